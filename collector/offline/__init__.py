"""`score` and `check`: recorded traces through the same pipeline, and the report on them."""
