"""What leaves of a trace or conversation that has its verdicts: annotated spans, and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from collector import __version__
from collector.assembly.trace import Trace
from collector.otlp.annotate import annotate, events_envelope
from collector.otlp.lazy import Envelope
from collector.results.evaluation_events import evaluation_events
from collector.results.redaction import Redaction
from collector.results.span_attributes import span_attributes
from collector.scoring.verdict import Verdict

_SCOPE = "rightcall"

Framed = list[tuple[Envelope, bytes]]
"""Spans or log records, each with what surrounds it."""


def resource_of(trace: Trace, verdict: Verdict) -> bytes:
    """The resource of the evaluated run, where it is known."""
    evaluated = trace.envelope_of(verdict.run.span_id)
    return evaluated.resource if evaluated else b""


class Results:
    """Writes results, without what must not leave. ``wall_ns`` says the time, in Unix nanoseconds."""

    def __init__(self, redaction: Redaction, wall_ns: Callable[[], int]) -> None:
        self._redaction, self._wall_ns = redaction, wall_ns

    def of_trace(self, trace: Trace, verdicts: list[Verdict]) -> tuple[Framed, Framed]:
        """The held spans as they leave, and the events."""
        added = span_attributes(verdicts)
        spans: Framed = []
        for span_id, raw, envelope in trace.held_spans():
            attributes = added.get(span_id)
            spans.append((envelope, self._redaction.span(annotate(raw, attributes) if attributes else raw)))
        events: Framed = []
        for verdict in verdicts:
            events += self.events([verdict], resource_of(trace, verdict))
        return spans, events

    def events(self, verdicts: Iterable[Verdict], resource: bytes) -> Framed:
        """The events alone; ``resource`` is that of the evaluated run, which they go under."""
        envelope = events_envelope(resource, _SCOPE, __version__)
        return [
            (envelope, self._redaction.log_record(event))
            for verdict in verdicts
            for event in evaluation_events(verdict, self._wall_ns())
        ]
