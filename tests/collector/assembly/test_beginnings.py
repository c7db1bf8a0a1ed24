"""Which runs may have begun before anything was seen of their trace."""

from __future__ import annotations

from typing import Any

from collector.assembly.beginnings import Beginnings
from collector.assembly.seen_from import SeenFrom
from collector.assembly.trace import Trace
from collector.model.genai_span import GenAISpan
from tests.builders import agent_span, genai_spans


class Counted(dict[bytes | int, GenAISpan]):
    """Spans that count how often all of them were looked at."""

    times = 0

    def values(self) -> Any:
        yield from self._counting(super().values())

    def _counting(self, spans: Any) -> Any:
        self.times += 1
        yield from spans


def test_which_of_many_runs_began_unseen_takes_one_look_at_all_spans() -> None:
    trace = Trace(b"t" * 16, 0.0, 0.0, bytearray())
    agents = genai_spans(agent_span(number=number, at=number) for number in range(1, 40))
    trace.seen_from = SeenFrom(agents[-1].start_ns, 0.0, 600.0)
    trace.spans = spans = Counted((span.span_id, span) for span in agents)
    beginnings = Beginnings(trace)
    assert [beginnings.may_be_missing(span.span_id) for span in agents] == [True] * 38 + [False]
    assert spans.times == 1
