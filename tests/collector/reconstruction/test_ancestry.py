"""Ancestors of spans, also with missing parents, cycles, or very many spans."""

from __future__ import annotations

from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from collector.reconstruction.ancestry import MAX_CONTEXT_STEPS, Ancestry
from tests.builders import span_id


def genai_span(number: int, parent: int, role: Role = Role.OTHER, remote: bool = False) -> GenAISpan:
    return GenAISpan(span_id(number), span_id(parent), number, number, role, "test", Resource({}), remote)


def ancestry(*spans: GenAISpan, unread: dict[int, int] | None = None) -> Ancestry:
    parents = {span_id(number): span_id(parent) for number, parent in (unread or {}).items()}
    parents |= {one.span_id: one.parent_span_id for one in spans}
    return Ancestry({one.span_id: one for one in spans}, parents)


def test_the_nearest_agent_and_tool_are_found_across_other_spans() -> None:
    tree = ancestry(
        genai_span(1, 0, Role.AGENT),
        genai_span(4, 3, Role.TOOL),
        genai_span(7, 6, Role.TOOL),
        unread={2: 1, 3: 2, 5: 4, 6: 5},
    )
    above = tree.ancestors_of(span_id(7))
    assert above.agent is not None
    assert above.tool is not None
    assert (above.agent.span_id, above.tool.span_id, above.missing) == (span_id(1), span_id(4), b"")
    assert tree.ancestors_of(span_id(4)).tool is None


def test_an_agent_hides_the_tool_that_started_it() -> None:
    tree = ancestry(genai_span(1, 0, Role.TOOL), genai_span(2, 1, Role.AGENT), genai_span(3, 2, Role.TOOL))
    assert tree.ancestors_of(span_id(3)).tool is None
    assert tree.ancestors_of(span_id(2)).tool is not None


def test_a_missing_local_parent_is_awaited_a_remote_one_is_not() -> None:
    assert ancestry(genai_span(2, 1)).ancestors_of(span_id(2)).missing == span_id(1)
    assert not ancestry(genai_span(2, 1, remote=True)).ancestors_of(span_id(2)).missing
    assert ancestry(genai_span(3, 2), unread={2: 1}).ancestors_of(span_id(3)).missing == span_id(1)
    assert not ancestry(genai_span(2, 0)).ancestors_of(span_id(2)).missing


def test_siblings_of_one_missing_parent_may_differ() -> None:
    tree = ancestry(genai_span(2, 1), genai_span(3, 1, remote=True))
    assert (tree.ancestors_of(span_id(2)).missing, tree.ancestors_of(span_id(3)).missing) == (span_id(1), b"")


def test_cycles_terminate() -> None:
    tree = ancestry(
        genai_span(1, 3, Role.TOOL),
        genai_span(2, 1, Role.AGENT),
        genai_span(3, 2, Role.TOOL),
        genai_span(4, 4, Role.AGENT),
    )
    for number in (1, 2, 3, 4):
        tree.ancestors_of(span_id(number))
        assert len(list(tree.iter_ancestors(span_id(number)))) <= MAX_CONTEXT_STEPS


def test_a_long_line_of_spans_is_visited_once() -> None:
    tree = ancestry(genai_span(1, 0, Role.AGENT), unread={number: number - 1 for number in range(2, 100_001)})
    above = tree.ancestors_of(span_id(100_000))
    assert above.agent is not None
    assert all(tree.ancestors_of(span_id(number)).agent is above.agent for number in range(2, 100_001))


def test_the_root_is_the_earliest_span_without_a_parent() -> None:
    assert ancestry(genai_span(5, 0), genai_span(2, 0), genai_span(1, 2)).root() == span_id(2)
    assert ancestry(genai_span(5, 9, remote=True), genai_span(6, 5)).root() == span_id(5)
    assert ancestry(genai_span(5, 9)).root() is None


def test_ancestors_are_nearest_first() -> None:
    tree = ancestry(genai_span(1, 0), genai_span(3, 2), genai_span(4, 3), unread={2: 1})
    assert [one.span_id for one in tree.iter_ancestors(span_id(4))] == [span_id(3), span_id(1)]


def test_context_is_searched_up_to_a_limit() -> None:
    at_limit, beyond = MAX_CONTEXT_STEPS + 1, MAX_CONTEXT_STEPS + 2
    tree = ancestry(genai_span(1, 0), unread={number: number - 1 for number in range(2, beyond + 1)})
    assert len(list(tree.iter_ancestors(span_id(at_limit)))) == 1
    assert list(tree.iter_ancestors(span_id(beyond))) == []
