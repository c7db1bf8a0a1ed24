"""reconstruction."""
