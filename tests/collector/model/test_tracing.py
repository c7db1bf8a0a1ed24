"""What was noted of a span is kept beside what is noted later, and shared by the spans of which the same was."""

from __future__ import annotations

from collector.model.from_span import genai_span_of
from collector.model.genai_span import GenAISpan, Role
from collector.model.tracing import USUAL
from tests.builders import span


def call() -> GenAISpan:
    return genai_span_of(span(number=2, parent=1), Role.TOOL, "otel_genai")


def test_nothing_is_noted_of_a_usual_span() -> None:
    assert call().tracing is USUAL


def test_what_is_noted_later_leaves_the_rest() -> None:
    noted = call()
    noted.note(outcome="told")
    noted.note(identity="guessed", traced_calls="succeeded")
    noted.note(outcome="")
    tracing = noted.tracing
    assert (tracing.outcome, tracing.identity, tracing.extent, tracing.traced_calls) == (
        "told",
        "guessed",
        "",
        "succeeded",
    )


def test_spans_of_which_the_same_was_noted_share_it() -> None:
    one, other, usual = call(), call(), call()
    one.note(outcome="told")
    one.note(extent="nested")
    other.note(extent="nested", outcome="told")
    assert one.tracing is other.tracing
    assert usual.tracing is USUAL
