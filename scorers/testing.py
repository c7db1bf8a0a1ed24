"""Agent runs in a test suite: the public name of `collector.testing`.

Like `scorers.opentelemetry` it imports the collector, which reads spans. Nothing else in this package imports either.
"""

from __future__ import annotations

from collector.testing import RecordedRuns, assert_run, read_runs, record_runs

__all__ = ["RecordedRuns", "assert_run", "read_runs", "record_runs"]
