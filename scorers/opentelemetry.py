"""Agent runs scored in the process that makes them: the public name of `collector.span_processor`.

Like `scorers.testing` it imports the collector, which reads spans. Nothing else in this package imports it.
"""

from __future__ import annotations

from collector.span_processor import ScoringSpanProcessor

__all__ = ["ScoringSpanProcessor"]
