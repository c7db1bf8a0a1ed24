"""What is exported of a scored trace or conversation: annotated spans, and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from collector import __version__
from collector.assembly.trace import Trace
from collector.checkpoints import checkpoint
from collector.otlp.annotate import events_envelope
from collector.otlp.structure import Envelope
from collector.results.evaluation_events import evaluation_events
from collector.results.redaction import Redaction
from collector.results.span_attributes import annotations_of
from collector.scoring.verdict import Verdict

_SCOPE = "rightcall"

EnvelopedItems = list[tuple[Envelope, bytes]]
"""Raw spans or log records, each with its envelope."""


def resource_of(trace: Trace, verdict: Verdict) -> bytes:
    """Returns the resource of the evaluated run, b"" if none of its spans is held."""
    evaluated = trace.envelope_of(verdict.run.span_id)
    return evaluated.resource if evaluated else b""


class Results:
    """Serialises and redacts results. ``wall_ns`` returns the time in Unix nanoseconds.

    With ``values``, the bodies of events quote arguments, unless these may be redacted. Events have the run's ``dimensions``,
    and a link to it where ``console`` says at which address people reach that.
    """

    def __init__(
        self,
        redaction: Redaction,
        wall_ns: Callable[[], int],
        *,
        values: bool,
        dimensions: Sequence[str],
        console: str | None,
    ) -> None:
        self._redaction, self._wall_ns, self._dimensions = redaction, wall_ns, tuple(dimensions)
        self._console = console.rstrip("/") if console else None
        self._values = values

    def of_trace(self, trace: Trace, verdicts: list[Verdict]) -> tuple[EnvelopedItems, EnvelopedItems]:
        """Returns the held spans, annotated, and the events."""
        annotation_of = annotations_of(verdicts)
        spans: EnvelopedItems = []
        for span_id, raw, envelope in trace.held_spans():
            checkpoint()
            annotation = annotation_of.get(span_id)
            # Redacted last: a verdict may quote what was sent.
            spans.append((envelope, self._redaction.span(raw if annotation is None else annotation.on(raw))))
        events: EnvelopedItems = []
        for verdict in verdicts:
            checkpoint()
            events += self.events([verdict], resource_of(trace, verdict))
        return spans, events

    def events(self, verdicts: Iterable[Verdict], resource: bytes) -> EnvelopedItems:
        """Returns the events alone, under ``resource``, that of the evaluated run."""
        envelope = events_envelope(resource, _SCOPE, __version__)
        return [
            (envelope, self._redaction.log_record(event))
            for verdict in verdicts
            for event in evaluation_events(
                verdict, self._wall_ns(), values=self._values and self._redaction.may_quote(verdict.run.hidden),
                dimensions=self._dimensions, console=self._console,
            )
        ]  # fmt: skip
