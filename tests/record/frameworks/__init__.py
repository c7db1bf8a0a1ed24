"""One script for each framework and instrumentation; run inside their own environment by `recordings.py`."""
