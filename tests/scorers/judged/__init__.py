"""judged."""
