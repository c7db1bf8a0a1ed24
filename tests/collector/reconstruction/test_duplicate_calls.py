"""One call that two instrumentations record is one call, and a run that they record is one run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from collector.model.span import Resource, Span
from tests.builders import agent_span, called, doubts, model_span, run_of, runs_of, span, span_id, steps, tool_span
from tests.operations import calls


def second_tool(name: str, arguments: Any, number: int, parent: int, at: float, lasting: float, **more: Any) -> Span:
    """A tool execution as another library records it."""
    text = json.dumps(arguments) if isinstance(arguments, Mapping) else arguments
    attributes = {"openinference.span.kind": "TOOL", "tool.name": name}
    if text is not None:
        attributes["input.value"] = text
    return span(name, number, parent, at, lasting, attributes=attributes, scope="second", **more)


def second_agent(name: str, number: int, parent: int, at: float, lasting: float, **more: Any) -> Span:
    attributes = {"openinference.span.kind": "AGENT", "agent.name": name}
    return span(name, number, parent, at, lasting, attributes=attributes, scope="second", **more)


def mcp_call(name: str, number: int, parent: int, at: float, lasting: float, arguments: Any = None) -> Span:
    attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": name}
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    return span(f"tools/call {name}", number, parent, at, lasting, attributes=attributes)


def test_sibling_spans_of_two_instrumentations_are_one_call_with_what_both_record() -> None:
    run = run_of(
        agent_span(),
        second_tool("search", {"q": 1}, 2, 1, at=10, lasting=50),
        tool_span("search", number=3, at=10.2, lasting=49.5, call_id="c1"),
    )
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments, call.span_id, run.trajectory.doubts) == ("c1", {"q": 1}, span_id(2).hex(), [])


@pytest.mark.parametrize("second", [{"q": 1}, "1", None])
def test_arguments_may_be_written_in_another_way(second: Any) -> None:
    run = run_of(
        agent_span(),
        tool_span("search", {"q": "1"} if second == "1" else {"q": 1}, 2, at=10, lasting=50),
        second_tool("search", second, 3, 1, at=10.2, lasting=49.5),
    )
    assert called(run) == ["search"]


def test_parallel_calls_of_one_tool_stay_apart_by_their_arguments() -> None:
    run = run_of(
        agent_span(),
        tool_span("search", {"q": 1}, 2, at=10, lasting=50),
        tool_span("search", {"q": 2}, 3, at=10.3, lasting=50),
        second_tool("search", {"q": 2}, 4, 1, at=10.1, lasting=50),
        second_tool("search", {"q": 1}, 5, 1, at=10.4, lasting=50),
    )
    assert [call.arguments for call in run.trajectory.calls] == [{"q": 1}, {"q": 2}]


def test_equal_calls_at_once_are_as_many_as_one_instrumentation_records() -> None:
    run = run_of(
        agent_span(),
        tool_span("roll", {}, 2, at=10, lasting=50),
        tool_span("roll", {}, 3, at=11, lasting=50),
        second_tool("roll", {}, 4, 1, at=10.1, lasting=50),
        second_tool("roll", {}, 5, 1, at=11.1, lasting=50),
    )
    assert called(run) == ["roll", "roll"]


def test_of_equal_calls_at_once_a_failure_is_a_record_of_the_one_that_failed() -> None:
    """The first library's span of the call that succeeded was lost."""
    run = run_of(
        agent_span(),
        tool_span("pay", {"n": 1}, 2, at=10, lasting=50, status=2, call_id="c2"),
        second_tool("pay", {"n": 1}, 3, 1, at=10.1, lasting=50, status=1),
        second_tool("pay", {"n": 1}, 4, 1, at=10.1, lasting=50, status=2),
    )
    assert sorted(call.status for call in run.trajectory.calls) == ["error", "ok"]


def test_equal_calls_of_one_instrumentation_are_two() -> None:
    assert called(
        run_of(agent_span(), tool_span("roll", {}, 2, at=10, lasting=50), tool_span("roll", {}, 3, at=10, lasting=50))
    ) == ["roll", "roll"]


def test_equal_calls_with_two_ids_are_two() -> None:
    run = run_of(
        agent_span(),
        tool_span("roll", {}, 2, at=10, lasting=50, call_id="c1"),
        tool_span("roll", {}, 3, at=10, lasting=50, call_id="c2", scope="second"),
    )
    assert called(run) == ["roll", "roll"]


def test_calls_one_after_the_other_are_two() -> None:
    run = run_of(
        agent_span(), tool_span("roll", {}, 2, at=10, lasting=50), second_tool("roll", {}, 3, 1, at=70, lasting=50)
    )
    assert called(run) == ["roll", "roll"]


def test_a_call_exported_twice_under_other_span_ids_is_one() -> None:
    first = tool_span("pay", {"n": 1}, 2, at=10, lasting=50, call_id="c1")
    again = tool_span("pay", {"n": 1}, 3, at=10, lasting=50, call_id="c1")
    retried = tool_span("pay", {"n": 1}, 4, at=70, lasting=50, call_id="c1")
    assert called(run_of(agent_span(), first, again)) == ["pay"]
    assert called(run_of(agent_span(), first, retried)) == ["pay", "pay"]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (tool_span("search", {"q": 1}, 3, at=11, lasting=50, call_id="functions.search:0"), ["uncertain_duplicate"]),
        (tool_span("search", {"q": 2}, 3, at=11, lasting=50, call_id="functions.search:0"), []),
        (tool_span("search", {"q": 1}, 3, at=70, lasting=50, call_id="functions.search:0"), []),
    ],
    ids=["alike", "other arguments", "later"],
)
def test_calls_of_one_library_may_be_two_where_a_provider_uses_an_id_again(second: Span, expected: list[str]) -> None:
    """Kimi numbers the calls of each answer, and branches of a graph run at once."""
    first = tool_span("search", {"q": 1}, 2, at=10, lasting=50, call_id="functions.search:0")
    run = run_of(agent_span(), first, second)
    assert (called(run), doubts(run)) == (["search", "search"], expected)


def test_records_with_other_arguments_at_the_same_time_may_be_one_call() -> None:
    run = run_of(
        agent_span(),
        tool_span("search", {"q": 1}, 2, at=10, lasting=50),
        second_tool("search", {"query": "one"}, 3, 1, at=10.2, lasting=49.5),
    )
    assert called(run) == ["search", "search"]
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [("uncertain_duplicate", (1,))]


@pytest.mark.parametrize(
    "name",
    ["mcp__github__search", "github_search", "github.search", "github-search", "github/search", "GitHub:search"],
)
def test_an_mcp_tool_is_the_same_under_the_name_of_its_server(name: str) -> None:
    inside = run_of(
        agent_span(),
        tool_span(name, {"q": 1}, 2, at=10, lasting=50),
        mcp_call("search", 3, 2, at=12, lasting=40),
        mcp_call("search", 4, 3, at=14, lasting=30),
    )
    beside = run_of(
        agent_span(), tool_span(name, {"q": 1}, 2, at=10, lasting=50), mcp_call("search", 3, 1, at=12, lasting=40)
    )
    assert (called(inside), called(beside)) == ([name], [name])


def test_another_mcp_tool_inside_a_tool_is_another_call() -> None:
    research = run_of(agent_span(), tool_span("research", {}, 2, lasting=50), mcp_call("search", 3, 2, 12, 20))
    deep = run_of(
        agent_span(), tool_span("deep_search", {"q": 1}, 2, lasting=50), mcp_call("search", 3, 2, 12, 20, {"term": "x"})
    )
    assert called(research) == ["research", "search"]
    assert called(deep) == ["deep_search", "search"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([0, 0, 0], (["deep_search", "search", "search", "search"], ["uncertain_duplicate"] * 3)),
        ([0], (["deep_search"], [])),
        ([2, 0], (["deep_search"], [])),  # the second attempt
    ],
)
def test_a_tool_that_succeeded_several_times_inside_one_whose_name_ends_like_its_own_is_not_its_record(
    statuses: list[int], expected: tuple[list[str], list[str]]
) -> None:
    attempts = [mcp_call("search", 10 + n, 2, 12 + 20 * n, 15) for n in range(len(statuses))]
    servers = [mcp_call("search", 20 + n, 10 + n, 14 + 20 * n, 10) for n in range(len(statuses))]
    for n, status in enumerate(statuses):
        attempts[n].status = servers[n].status = status
    run = run_of(agent_span(), tool_span("deep_search", {}, 2, at=10, lasting=90), *attempts, *servers)
    assert (called(run), doubts(run)) == expected
    assert steps(run) == list(range(len(expected[0])))


def test_spans_on_the_way_of_a_call_that_name_no_tool_are_none_of_their_own() -> None:
    sent = [span("step", 3 + n, 2, 12 + 10 * n, 5, attributes={"op": "execute_tool"}) for n in range(2)]
    run = run_of(agent_span(), tool_span("search", {"q": 1}, 2, at=10, lasting=80), *sent)
    assert (called(run), doubts(run)) == (["search"], [])


def test_a_client_and_a_server_with_other_spans_in_between_are_of_one_call() -> None:
    run = run_of(
        agent_span(),
        tool_span("github_search", {"q": 1}, 2, at=10, lasting=80),
        mcp_call("search", 3, 2, 12, 70),
        span("POST", 4, 3, 13, 60),
        mcp_call("search", 5, 4, 15, 40),
    )
    assert (called(run), doubts(run)) == (["github_search"], [])


def test_the_cost_of_telling_tools_from_those_around_them_is_linear() -> None:
    def work(count: int) -> int:
        spans = [agent_span("bot", 1, lasting=1e6)]
        for at in range(count):
            number = 10 * (at + 1)
            spans.append(tool_span("deep_search", {}, number, at=at, lasting=0.9))
            spans += [mcp_call("search", number + part, number, at + 0.1 * part, 0.05) for part in (1, 2, 3)]
        return calls(lambda: run_of(*spans))

    assert work(400) < 2.5 * work(200)


def test_two_trees_of_one_run_are_one_run() -> None:
    run = run_of(
        span("POST", 9, lasting=1100),
        agent_span("bot", 1, 9),
        tool_span("search", {"q": 1}, 2, at=10, lasting=50),
        second_agent("bot", 3, 9, at=0.5, lasting=999),
        second_tool("search", {"q": 1}, 4, 3, at=10.2, lasting=49.5),
        second_tool("note", {}, 5, 3, at=80, lasting=5),
    )
    assert (run.span_id, called(run)) == (span_id(1), ["search", "note"])


def test_an_inner_run_that_two_instrumentations_record_stays_inside() -> None:
    outer, inner = runs_of(
        span("POST", 9, lasting=1100),
        agent_span("boss", 1, 9),
        tool_span("ask", {}, 2, at=10, lasting=500),
        agent_span("clerk", 3, 2, at=20, lasting=400),
        tool_span("look", {}, 4, 3, at=30, lasting=50),
        span("flat", 10, 9, lasting=1000),
        second_agent("boss", 5, 10, at=0.5, lasting=999),
        second_tool("ask", {}, 6, 10, at=10.2, lasting=499),
        second_agent("clerk", 7, 10, at=20.2, lasting=399),
        second_tool("look", {}, 8, 10, at=30.2, lasting=49),
    )
    assert [(run.agent, called(run)) for run in (outer, inner)] == [("boss", ["ask"]), ("clerk", ["look"])]
    assert (inner.parent_span_id, inner.started_by) == (outer.span_id, span_id(2))


def test_parallel_agents_of_two_instrumentations_that_call_other_tools_are_two_runs() -> None:
    runs = runs_of(
        agent_span("worker", 1),
        tool_span("a", {}, 2, 1, at=10),
        second_agent("worker", 3, 0, at=0.5, lasting=999),
        second_tool("b", {}, 4, 3, at=10, lasting=10),
    )
    assert [called(run) for run in runs] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("one", "other", "runs"),
    [
        ({"host.name": "a"}, {"host.name": "a"}, 1),
        ({"host.name": "a"}, {"host.name": "b"}, 2),
        ({"k8s.node.name": "n", "k8s.pod.name": "a-0"}, {"k8s.node.name": "n", "k8s.pod.name": "b-0"}, 2),
        ({"k8s.node.name": "n", "container.id": "a"}, {"k8s.node.name": "n", "container.id": "b"}, 2),
        ({"k8s.node.name": "n", "k8s.pod.name": "a-0"}, {"k8s.node.name": "n"}, 1),
        # The tracers of two libraries in one process may each make up an instance.
        ({"host.name": "a", "service.instance.id": "1"}, {"host.name": "a", "service.instance.id": "2"}, 1),
    ],
)
def test_agents_of_two_processes_are_two_runs_though_only_one_shows_calls(
    one: dict[str, str], other: dict[str, str], runs: int
) -> None:
    here, there = Resource(one), Resource(other)
    found = runs_of(
        span("POST", 9, lasting=1100, resource=here),
        agent_span("worker", 1, 9, resource=here),
        tool_span("look", {}, 2, 1, at=10, resource=here),
        second_agent("worker", 3, 9, at=0.5, lasting=999, resource=there),
    )
    assert len(found) == runs


def test_equal_calls_of_agents_in_two_pods_of_one_node_are_two() -> None:
    pods = [Resource({"k8s.node.name": "n", "k8s.pod.name": name}) for name in ("a-0", "b-0")]
    runs = runs_of(
        span("POST", 9, lasting=1100, resource=pods[0]),
        agent_span("worker", 1, 9, resource=pods[0]),
        tool_span("search", {"q": "x"}, 2, 1, at=10, lasting=50, resource=pods[0]),
        tool_span("summarize", {}, 3, 1, at=80, resource=pods[0]),
        second_agent("worker", 4, 9, at=0.5, lasting=999, resource=pods[1]),
        second_tool("search", {"q": "x"}, 5, 4, at=10.5, lasting=50, resource=pods[1]),
    )
    assert [called(run) for run in runs] == [["search", "summarize"], ["search"]]


def test_agents_of_two_instrumentations_at_other_times_are_two_runs() -> None:
    runs = runs_of(agent_span("worker", 1, lasting=100), second_agent("worker", 2, 0, at=50, lasting=100))
    assert len(runs) == 2


def test_a_model_request_that_two_instrumentations_record_asks_once() -> None:
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "pay", "arguments": {}}]}]
    again = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(asked)}
    run = run_of(
        agent_span(),
        model_span([(None, "pay", {})], 2, at=10, lasting=50),
        span("chat", 3, 1, 10.5, 50, attributes=again, scope="second"),
        model_span(number=4, at=100),
    )
    assert called(run) == ["pay"]


def test_many_calls_at_once_are_compared_with_a_bounded_number_of_others() -> None:
    spans = [tool_span("roll", {}, 10 + number, at=10, lasting=50) for number in range(70)]
    far = second_tool("roll", {}, 200, 1, at=10.5, lasting=50)
    assert len(called(run_of(agent_span(), *spans, far))) == 70
    spans = [tool_span("other", {}, 10 + number, at=10.1, lasting=50) for number in range(70)]
    first = tool_span("roll", {}, 2, at=10, lasting=50)
    assert len(called(run_of(agent_span(), first, *spans, far))) == 72


def test_two_records_whose_times_cannot_be_compared_may_be_one_call() -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    run = run_of(
        agent_span(resource=here),
        tool_span("look", {"q": 1}, 2, at=10, resource=here, scope="one"),
        tool_span("look", {"q": 1}, 3, at=510, resource=there, scope="other"),
    )
    assert [doubt.name for doubt in run.trajectory.doubts] == ["uncertain_duplicate"]


def test_a_call_whose_inner_record_seems_to_start_first_is_one() -> None:
    run = run_of(
        agent_span(),
        second_tool("search", {"q": 1}, 2, 1, at=15, lasting=50),
        tool_span("search", {"q": 1}, 3, 2, at=10.2, lasting=49.5),
    )
    assert called(run) == ["search"]


def test_equal_records_of_two_instrumentations_at_other_times_may_be_one_call() -> None:
    run = run_of(
        agent_span(), tool_span("roll", {}, 2, at=10, lasting=50), second_tool("roll", {}, 3, 1, at=70, lasting=50)
    )
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [("uncertain_duplicate", (1,))]


def test_records_of_one_call_id_are_one_call_whatever_their_times() -> None:
    run = run_of(
        agent_span(),
        tool_span("pay", {"n": 1}, 2, at=10, lasting=50, call_id="c1"),
        tool_span("pay", None, 3, at=90, lasting=50, call_id="c1", scope="second"),
    )
    assert (called(run), run.trajectory.doubts) == (["pay"], [])


def of_two_libraries(*, lost: int) -> list[Span]:
    """A run of which a second library records the agent, and beside it the request, the call and another request."""
    pay: list[tuple[str | None, str, Any]] = [("c1", "pay", {"n": 1})]
    look: list[tuple[str | None, str, Any]] = [("c2", "look", {})]
    spans = [
        span("POST", 9, lasting=1100),
        agent_span("bot", 1, 9),
        model_span(pay, 2, at=10, lasting=20),
        tool_span("pay", {"n": 1}, 3, at=40, lasting=20, call_id="c1"),
        model_span(look, 4, at=70, lasting=20),
        tool_span("look", {}, 5, at=100, lasting=20, call_id="c2"),
        model_span((), 6, at=130, lasting=20),
        span("workflow", 30, 9, 0.2, lasting=1000),
        second_agent("bot", 10, 30, at=0.5, lasting=999),
        model_span(pay, 12, 30, at=10.2, lasting=19, scope="second"),
        second_tool("pay", {"n": 1}, 13, 30, at=40.2, lasting=19),
        model_span(look, 14, 30, at=70.2, lasting=19, scope="second"),
        second_tool("look", {}, 15, 30, at=100.2, lasting=19),
        model_span((), 16, 30, at=130.2, lasting=19, scope="second"),
    ]
    return [one for one in spans if one.span_id != span_id(lost)]


@pytest.mark.parametrize("lost", [0, 2, 3, 4, 5, 12, 13, 14, 15, 30])
def test_what_one_of_two_libraries_lost_the_other_tells_and_no_second_run_appears(lost: int) -> None:
    run = run_of(*of_two_libraries(lost=lost))
    assert (run.span_id, called(run), run.trajectory.doubts) == (span_id(1), ["pay", "look"], [])


def test_what_a_library_records_outside_every_run_is_a_run_of_its_own() -> None:
    before = tool_span("warm_up", {}, 20, 9, at=1005, lasting=5, scope="second")
    runs = runs_of(*of_two_libraries(lost=0), before)
    assert [called(run) for run in runs] == [["pay", "look"], ["warm_up"]]


def test_calls_without_times_that_a_second_library_records_beside_two_runs_may_be_of_either() -> None:
    look = second_tool("look", {}, 8, 9, at=10, lasting=1)
    look.start_ns = look.end_ns = 0
    runs = runs_of(
        span("POST", 9, lasting=1100),
        agent_span("boss", 1, 9, lasting=400),
        tool_span("ask", {}, 2, at=10, lasting=50),
        agent_span("clerk", 3, 9, at=500, lasting=400),
        second_agent("boss", 5, 9, at=0.5, lasting=399),
        second_agent("clerk", 7, 9, at=500.5, lasting=399),
        look,
    )
    assert [(run.agent, [doubt.name for doubt in run.trajectory.doubts]) for run in runs] == [
        ("boss", ["uncertain_owner", "uncertain_order"]),
        ("clerk", ["uncertain_owner"]),
    ]


@pytest.mark.parametrize("change", ["reversed", "no ends"])
def test_two_trees_of_one_run_are_one_run_though_times_are_wrong(change: str) -> None:
    spans = [
        agent_span("bot", 1),
        tool_span("search", {"q": 1}, 2, at=10, lasting=50, call_id="c1"),
        agent_span("bot", 3, at=0.5, lasting=999, scope="second"),
        tool_span("search", {"q": 1}, 4, 3, at=10.2, lasting=49.5, call_id="c1", scope="second"),
    ]
    for one in spans:
        one.start_ns, one.end_ns = (one.end_ns, one.start_ns) if change == "reversed" else (one.start_ns, 0)
    assert called(run_of(*spans)) == ["search"]
