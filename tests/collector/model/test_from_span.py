"""What every dialect reads of a span in the same way."""

from __future__ import annotations

import pytest

from collector.model.from_span import context_attributes, genai_span_of
from collector.model.genai_span import Role
from tests.builders import EPOCH, MS, span


def test_ids_times_and_resource() -> None:
    made = span("x", 2, 1, at=5, lasting=3)
    genai_span = genai_span_of(made, Role.TOOL, "test")
    assert (genai_span.span_id, genai_span.parent_span_id) == (made.span_id, made.parent_span_id)
    assert (genai_span.start_ns, genai_span.end_ns) == (EPOCH + 5 * MS, EPOCH + 8 * MS)
    assert genai_span.resource is made.resource


@pytest.mark.parametrize(
    ("remote", "kind", "expected"),
    [(True, 1, True), (False, 2, False), (None, 2, True), (None, 5, True), (None, 1, False), (None, 3, False)],
)
def test_a_remote_parent_is_known_by_flags_or_else_by_the_kind(remote: bool | None, kind: int, expected: bool) -> None:
    assert genai_span_of(span(remote=remote, kind=kind), Role.OTHER, "test").remote_parent is expected


def test_a_refusal_is_known_by_the_status_or_the_exception() -> None:
    words = "MCP error -32602: Tool x not found"
    assert genai_span_of(span(status=2, message=words), Role.TOOL, "test").refusal
    assert genai_span_of(
        span(status=2, events=[("exception", {"exception.message": words})]), Role.TOOL, "test"
    ).refusal
    assert not genai_span_of(span(status=2, message="declined"), Role.TOOL, "test").refusal


def test_context_attributes_are_short_plain_values() -> None:
    assert context_attributes(
        span(attributes={"a": "x", "b": True, "c": 1.5, "d": "x" * 600, "e": ["x"], "f": None, "g": b"x"})
    ) == {
        "a": "x",
        "b": True,
        "c": 1.5,
    }
