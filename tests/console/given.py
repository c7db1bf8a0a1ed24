"""What the tests of the console share."""

from __future__ import annotations

AT_ONCE = {"settle": "50ms", "confirm": "50ms", "idle_timeout": "1s"}
"""Verdicts as soon as a trace is there."""
