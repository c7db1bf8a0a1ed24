"""What a trace still tells of spans that were lost, of times that are missing, and of clocks that are wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from collector.model.span import Resource, Scope, Span
from collector.payloads.values import MAX_TEXT
from tests.builders import (
    agent_span,
    asked,
    called,
    doubts,
    genai_spans,
    model_span,
    other_doubts,
    result,
    run_of,
    runs_of,
    span,
    tool_span,
    user,
)

OTHER_HOST = Resource({"service.name": "tools", "host.name": "h2"})


def untimed(spans: Sequence[Span]) -> list[Span]:
    for one in spans:
        one.start_ns = one.end_ns = 0
    return list(spans)


def test_a_call_of_a_wrong_clock_may_have_come_before_any_other() -> None:
    run = run_of(
        agent_span(lasting=100),
        tool_span("second", number=3, at=20, lasting=5),
        tool_span("third", number=4, at=40, lasting=5),
        tool_span("first", number=2, at=10 + 500, lasting=5, resource=OTHER_HOST),
    )
    (doubt,) = run.trajectory.doubts
    assert (doubt.name, len(doubt.orders)) == ("uncertain_order", 3)


@pytest.mark.parametrize("change", ["none", "zero", "reversed"])
def test_a_request_recorded_twice_is_one_whatever_its_times(change: str) -> None:
    told = [user("pay"), asked(("c1", "pay", {"n": 1})), result("c1", "Error: declined")]
    spans = [
        agent_span(),
        model_span([("c1", "pay", {"n": 1})], 2, at=10),
        tool_span("pay", {"n": 1}, 3, at=25, lasting=5, call_id="c1", status=2, message="declined"),
        model_span([("c2", "pay", {"n": 1})], 4, at=40, lasting=20, input_messages=told),
        model_span([("c2", "pay", {"n": 1})], 5, parent=4, at=42, lasting=10),
        tool_span("pay", {"n": 1}, 6, at=65, lasting=5, call_id="c2"),
        model_span((), 7, at=80, input_messages=[*told, asked(("c2", "pay", {"n": 1})), result("c2", "paid")]),
    ]
    if change == "zero":
        untimed(spans)
    for one in spans if change == "reversed" else ():
        one.start_ns, one.end_ns = one.end_ns, one.start_ns
    assert called(run_of(*spans)) == ["pay", "pay"]


def test_what_the_callers_span_was_told_last_may_have_been_called_before_any_request_that_is_left() -> None:
    """LiteLLM writes each request to its caller's span, over the one before."""
    first = [user("book"), asked(("c1", "find", {})), result("c1", "AF123")]
    second = [*first, asked(("c2", "book", {})), result("c2", "booked")]
    spans = [
        model_span((), 1, parent=0, at=0, lasting=100, input_messages=first),
        model_span([("c2", "book", {})], 3, parent=1, at=40, lasting=5, input_messages=first),
        model_span((), 4, parent=1, at=60, lasting=5, input_messages=second),
    ]
    assert doubts(run_of(*spans)) == ["unrecorded_calls"]
    assert called(run_of(model_span([("c1", "find", {})], 2, parent=1, at=10, lasting=5), *spans)) == ["find", "book"]


def test_a_result_that_names_its_tool_is_one_of_that_tool() -> None:
    response = {"functionResponse": {"name": "find", "response": {"error": 'Error: [{"code": "invalid_type"}]'}}}
    messages = [
        user("go"),
        {"role": "model", "parts": [{"functionCall": {"name": "drop", "args": {}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"town": 5}}}]},
        {"role": "user", "parts": [response]},
    ]
    run = run_of(
        agent_span(),
        tool_span("find", {"town": 5}, 3, at=20, status=2),
        model_span((), 4, at=40, input_messages=messages),
    )
    assert called(run) == ["(find)"]


def test_a_call_told_with_other_arguments_than_were_requested_is_another_call() -> None:
    told = [user("go"), asked((None, "find", {"n": 1})), result("", "Error: invalid arguments for tool find")]
    told += [asked((None, "find", {"n": 2})), result("", "found")]
    run = run_of(
        agent_span(),
        model_span([(None, "find", {"n": 1})], 2, at=10),
        tool_span("find", {"n": 1}, 3, at=25, lasting=5, status=2),
        tool_span("find", {"n": 2}, 4, at=45, lasting=5),
        model_span((), 5, at=60, input_messages=told),
    )
    assert called(run) == ["(find)", "find"]


def test_a_run_below_the_missing_span_of_the_calls_beside_it_lacks_its_anchor() -> None:
    hook = agent_span("helper", 2, parent=1, at=5, lasting=500)
    run = run_of(hook, model_span([("c1", "find", {})], 3, parent=1, at=10))
    assert "missing_anchor" in doubts(run)


def test_a_server_of_a_tool_is_not_the_anchor_of_what_called_it() -> None:
    server = span(
        "tools/call find", 9, parent=8, at=30, kind=2, remote=True,
        attributes={"mcp.method.name": "tools/call", "gen_ai.tool.name": "find", "gen_ai.operation.name": "execute_tool"},
    )  # fmt: skip
    run = run_of(server, model_span([("c1", "find", {})], 3, parent=1, at=10))
    assert "missing_anchor" in doubts(run)


def test_a_model_below_a_missing_span_that_requested_tools_leaves_them_unrecorded() -> None:
    stopped = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    models = [model_span((), number, parent=number + 10, at=number, attributes=stopped) for number in (2, 3)]
    run = run_of(span("POST", 1, lasting=200), *models)
    assert doubts(run) == ["missing_span", "unrecorded_calls"]


def test_an_execution_without_a_name_may_be_a_call_of_any_tool() -> None:
    unnamed = span("task", 2, 1, 5, attributes={"traceloop.span.kind": "tool"})
    run = run_of(agent_span(), unnamed, tool_span("find", number=3, at=20))
    assert (called(run), doubts(run)) == (["find"], ["unrecorded_calls"])


@pytest.mark.parametrize(
    ("own", "shown", "expected"),
    [
        (False, False, ["missing_span"]),  # what never has a span in another run explains nothing
        (False, True, []),  # it may be the span of that call
        (True, False, []),
    ],
    ids=["of another run", "of a run with spans", "of its own"],
)
def test_a_call_that_messages_tell_of_is_that_of_a_missing_span(own: bool, shown: bool, expected: list[str]) -> None:
    def told_call(number: int, parent: int, at: float) -> list[Span]:
        told = [user("go"), asked(("c1", "web", {})), result("c1", "fine")]
        first = model_span([("c1", "web", {})], number, parent, at=at, input_messages=[user("go")])
        return [first, model_span((), number + 1, parent, at=at + 40, input_messages=told)]

    _, last = runs_of(
        span("POST /", 1, lasting=900),
        agent_span("one", 10, 1, at=1, lasting=100),
        *([] if own else told_call(11, 10, 10)),
        *([tool_span("look", {}, 13, 10, at=60)] if shown else []),
        agent_span("two", 20, 1, at=200, lasting=100),
        *(told_call(21, 20, 205) if own else []),
        tool_span("note", {}, 23, 20, at=210),
        span("POST http://pay", 25, 24, at=260),  # the span of the tool that sent it was lost
    )
    assert [name for name in doubts(last) if name == "missing_span"] == expected


@pytest.mark.parametrize("ids", [("call_0", "call_0"), ("a", "b")], ids=["used again", "unique"])
def test_an_id_that_a_provider_uses_again_does_not_tell_whose_spans_are_below_a_missing_agent(
    ids: tuple[str, str],
) -> None:
    def spans_of(name: str, call_id: str, parent: int) -> list[Span]:
        told = [user("go"), asked((call_id, name, {})), result(call_id, "ok")]
        return [
            model_span([(call_id, name, {})], parent + 1, parent, at=10, lasting=5, input_messages=[user("go")]),
            tool_span(name, {}, parent + 2, parent, at=20, call_id=call_id),
            model_span((), parent + 3, parent, at=40, input_messages=told),
        ]

    run = run_of(
        span("POST /", 1, lasting=900),
        *spans_of("pay", ids[0], 20),  # the span of this agent was lost
        agent_span("searcher", 10, 1, at=1),
        *spans_of("search", ids[1], 10),
    )
    assert "uncertain_owner" in doubts(run)


def test_a_missing_span_whose_children_nothing_claims_may_be_a_call() -> None:
    run = run_of(
        span("agent", 1, lasting=200), tool_span("look", number=3, parent=9), tool_span("send", number=4, at=20)
    )
    assert doubts(run) == ["missing_span", "uncertain_owner"]


@pytest.mark.parametrize(
    ("arguments", "expected"), [({}, []), ({"agent_name": "expert"}, ["uncertain_execution", "unobserved_results"])]
)
def test_a_handoff_with_arguments_may_be_a_tool(arguments: Mapping[str, Any], expected: list[str]) -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "find", {})], 2, at=10, lasting=5),
        tool_span("find", {}, 3, at=20, lasting=5, call_id="c1"),
        model_span([("c2", "transfer_to_agent", arguments)], 4, at=40, lasting=5),
    )
    assert (called(run), doubts(run)) == (["find", "(transfer_to_agent)"], expected)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("transfer_to_billing", {}, ["uncertain_execution"]),
        ("transfer_to_human", {"reason": "angry"}, []),
        ("transfer", {}, []),
    ],
)
def test_a_handoff_without_arguments_may_be_the_frameworks_own(
    name: str, arguments: Mapping[str, Any], expected: list[str]
) -> None:
    """Nothing tells where no tool leaves a span."""
    told = {"gen_ai.input.messages": json.dumps([user("go"), asked(("c1", name, arguments)), result("c1", "done")])}
    run = run_of(
        span("POST /chat", 1, lasting=100),
        model_span([("c1", name, arguments)], 2, at=10, lasting=5),
        model_span([], 3, at=40, lasting=5, attributes=told),
    )
    assert (called(run), doubts(run)) == ([name], expected)


def test_calls_without_names_are_unrecorded() -> None:
    """As where content is not captured, and only the number of calls is."""
    choice = {
        "gen_ai.event.content": json.dumps({"finish_reason": "tool_calls", "message": {"tool_calls": [{"id": "c1"}]}})
    }
    spans = [
        span(
            "chat m", number, 1, 10 * number, 5, events=(("gen_ai.choice", content),),
            attributes={"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": [reason]},
        )
        for number, reason, content in (
            (2, "tool_calls", choice), (3, "stop", {"gen_ai.event.content": '{"finish_reason": "stop", "index": 0}'})
        )
    ]  # fmt: skip
    run = run_of(span("POST /chat", 1, lasting=100), *spans)
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


def test_what_an_agent_began_with_tells_of_the_calls_of_those_before_it() -> None:
    history = [user("go"), asked(("c1", "find", {}), ("c2", "handoff", {})), result("c1", "x"), result("c2", "y")]
    begun_with = {"gen_ai.input.messages": json.dumps(history)}
    spans = [
        span("POST", 1, lasting=500),
        agent_span("first", 2, 1, lasting=100),
        tool_span("find", {}, 3, 2, at=10, call_id="c1"),
        tool_span("handoff", {}, 4, 2, at=50, call_id="c2"),
        agent_span("second", 5, 1, at=200, lasting=100, attributes=begun_with),
        tool_span("send", {}, 6, 5, at=210, call_id="c3"),
    ]
    assert [doubts(run) for run in runs_of(*spans)] == [[], []]
    del spans[3]
    assert [doubts(run) for run in runs_of(*spans)] == [["unrecorded_calls"], ["unrecorded_calls"]]


def test_a_span_of_several_requests_is_told_of_what_it_requested_itself() -> None:
    history = [user("go"), asked(("c1", "find", {})), result("c1", "x")]
    run = run_of(
        agent_span(),
        model_span([("c1", "find", {})], 2, at=10, lasting=100, input_messages=history),
        tool_span("find", {}, 3, at=20, call_id="c1"),
    )
    assert (called(run), doubts(run)) == (["find"], [])


def test_two_instrumentations_without_times_recorded_the_same_calls() -> None:
    spans = [
        agent_span("helper", 1),
        tool_span("find", {"q": 1}, 2, 1, call_id="c1"),
        agent_span("", 3, 1),
        tool_span("find", {"q": 1}, 4, 3),
    ]
    for one in spans[2:]:
        one.scope = Scope("other", "1")
    assert [called(run) for run in runs_of(*untimed(spans))] == [["find"]]


def test_what_two_runs_may_have_called_is_in_doubt_where_a_span_is_missing() -> None:
    spans = [
        span("POST", 1, lasting=900),
        agent_span("outer", 2, 1, at=1, lasting=800),
        tool_span("ask", {}, 3, 2, at=10, lasting=700),
        agent_span("inner", 4, 3, at=20, lasting=600),
        tool_span("look", {}, 5, parent=9, at=30, lasting=50),
        tool_span("look", {}, 6, parent=1, at=31, lasting=40),
        tool_span("ask", {}, 7, parent=1, at=11, lasting=698),
    ]
    for one in spans[-2:]:
        one.scope = Scope("other", "1")
    outer, inner = runs_of(*spans)
    for run in (outer, inner):  # the second is the other library's record of the first, if it is not a call of its own
        assert [name for name in doubts(run) if name != "missing_span"] == ["uncertain_owner", "uncertain_duplicate"]


@pytest.mark.parametrize(
    "written",
    [
        '{"pad": "' + "x" * MAX_TEXT + '", "eur": 9}',
        '{"pad": ' + "[" * 99 + "]" * 99 + ', "eur": 9}',
        '{"eur": 9',
        "[9]",
    ],
    ids=["long", "deep", "damaged", "a list"],
)
def test_arguments_that_cannot_be_parsed_are_not_taken_for_ones_that_were_not_captured(written: str) -> None:
    run = run_of(agent_span(), tool_span("pay", attributes={"gen_ai.tool.call.arguments": written}))
    assert doubts(run) == ["unreadable_arguments"]
    known = model_span([("c1", "pay", {"eur": 9})], 3)
    read = run_of(agent_span(), known, tool_span("pay", at=20, attributes={"gen_ai.tool.call.arguments": written}))
    assert doubts(read) == []


def test_of_arguments_that_are_a_bare_value_nothing_says_of_which_name() -> None:
    run = run_of(agent_span(), tool_span("find", attributes={"gen_ai.tool.call.arguments": "Oslo"}))
    assert doubts(run) == ["unreadable_arguments"]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["c1"], (["look", "(pay)"], ["uncertain_execution"])),
        (["c1", "c2"], (["look", "pay"], [])),
        ([], (["look", "pay"], ["unobserved_results"])),  # an input that holds none of an answer tells nothing of it
    ],
)
def test_a_call_that_a_later_input_leaves_out_of_its_answer_may_not_have_run(
    told: list[str], expected: tuple[list[str], list[str]]
) -> None:
    calls: list[tuple[str, str, Any]] = [("c1", "look", {}), ("c2", "pay", {})]
    exchange = [asked(*(call for call in calls if call[0] in told)), *(result(one, "fine") for one in told)]
    run = run_of(
        agent_span(),
        model_span(calls, 2, at=10, lasting=5, input_messages=[user("go")]),
        model_span((), 3, at=60, input_messages=[user("go"), *(exchange if told else [])]),
    )
    assert (called(run), doubts(run)) == expected


def test_a_call_that_a_later_input_holds_without_a_result_never_ran() -> None:
    found = {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"n": 1}}}]}
    told = [user("go"), asked((None, "drop", {})), asked((None, "find", {"n": 1})), found]
    run = run_of(
        agent_span(),
        model_span([(None, "drop", {})], 2, at=10, lasting=5),
        model_span([(None, "find", {"n": 1})], 3, at=20, lasting=5),
        tool_span("find", {"n": 1}, 4, at=30, lasting=5),
        model_span((), 5, at=60, input_messages=told),
    )
    assert (called(run), doubts(run)) == (["(drop)", "find"], [])


@pytest.mark.parametrize(
    ("message", "expected"),
    [("card declined", ["uncertain_execution", "unobserved_results"]), ("Tool pay not found", [])],
    ids=str,
)
def test_the_call_requested_last_may_be_what_failed_the_run(message: str, expected: list[str]) -> None:
    run = run_of(
        agent_span(status=2, message=message),
        tool_span("find", {}, 2, at=5, lasting=2, call_id="c0"),
        model_span([("c1", "pay", {})], 3, at=10, lasting=5),
    )
    assert (called(run), doubts(run)) == (["find", "(pay)"], expected)


def test_a_span_without_its_own_request_is_not_that_of_an_earlier_call_of_the_tool() -> None:
    history = [user("pay"), asked(("c1", "pay", {"n": "x"})), result("c1", "Invalid input for tool pay: no number")]
    history += [asked(("c2", "pay", {"n": 1})), result("c2", "paid")]
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"n": "x"})], 2, at=0),
        tool_span("pay", {"n": 1}, 3, at=40, call_id="c2"),
        model_span((), 4, at=60, input_messages=history),
    )
    assert (called(run), doubts(run)) == (["(pay)", "pay"], [])
    assert [(c.id, c.arguments) for c in run.trajectory.calls if c.executed] == [("c2", {"n": 1})]


def test_an_agent_of_which_nothing_else_arrived_may_have_called_anything() -> None:
    """Each call leaves a span, as does each request: without one, those of calls may be lost as well."""
    agent = agent_span(scope="strands.telemetry.tracer")
    assert (called(run_of(agent)), doubts(run_of(agent))) == ([], ["nothing_recorded"])


@pytest.mark.parametrize("mask", ["****", "[REDACTED]", "FunctionTool"])
@pytest.mark.parametrize(
    ("known", "expected"), [("c1", (["pay"], [])), ("", ([], ["unrecorded_calls", "nothing_recorded"]))]
)
def test_a_mask_is_no_name_of_a_tool(mask: str, known: str, expected: tuple[list[str], list[str]]) -> None:
    """As of the Collector's redaction processor. An answer that was recorded, with the id of the call, tells which it was."""
    run = run_of(
        agent_span(),
        *([model_span([(known, "pay", {"n": 1})], 3, at=0)] if known else []),
        tool_span(mask, {"n": 1}, 2, at=20, call_id=known),
        *([model_span((), 4, at=40, attributes=said("Paid."))] if known else []),
    )
    assert (called(run), doubts(run)) == expected


def turns_of(*names: str) -> list[list[Span]]:
    """Returns the spans of an agent by turn: a request, and the call that it asked for, each told all before it."""
    told, turns = [user("book")], list[list[Span]]()
    for at, name in enumerate(names):
        known, start = f"call_of_{name}", 20 * at
        request = model_span([(known, name, {})], 10 + at, at=start, lasting=5, input_messages=list(told))
        turns.append([request, tool_span(name, {}, 30 + at, at=start + 6, lasting=5, call_id=known)])
        told += [asked((known, name, {})), result(known, "done")]
    turns.append([model_span((), 10 + len(names), at=20 * len(names), lasting=5, input_messages=told)])
    return turns


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (0, (["check", "pay"], ["unrecorded_calls"])),  # or they were made before the run
        (1, (["find", "check", "pay"], ["unobserved_results"])),
        (2, (["find", "check", "pay"], ["unobserved_results"])),
    ],
)
def test_a_turn_of_which_all_spans_were_lost_is_told_in_the_next_request(
    lost: int, expected: tuple[list[str], list[str]]
) -> None:
    """As with a batch that an exporter gave up: no answer that is left asked for the call."""
    left = [spans for at, spans in enumerate(turns_of("find", "check", "pay")) if at != lost]
    run = run_of(agent_span(lasting=100), *(span for spans in left for span in spans))
    assert (called(run), doubts(run)) == expected


def test_what_an_agent_was_told_before_the_users_last_message_was_called_in_an_earlier_run() -> None:
    earlier = [
        user("find"),
        asked(("c0", "find", {})),
        result("c0", "found"),
        {"role": "assistant", "content": "Found."},
    ]
    told = [*earlier, user("pay"), asked(("c1", "pay", {})), result("c1", "paid")]
    run = run_of(
        agent_span(lasting=100),
        model_span([("c1", "pay", {})], 2, at=0, lasting=5, input_messages=told[:-2]),
        tool_span("pay", {}, 3, at=10, lasting=5, call_id="c1"),
        model_span((), 4, at=20, lasting=5, input_messages=told),
    )
    assert (called(run), doubts(run)) == (["pay"], [])


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ((0, 1, 4), (["find"], ["unrecorded_calls"])),  # a turn was lost
        ((0, 1), (["find"], ["unrecorded_calls"])),  # and all after it
        ((0, 1, 2), (["find", "(pay)"], ["uncertain_execution", "unobserved_results"])),  # all after the last request
        ((0, 1, 2, 3, 4), (["find", "pay"], [])),
    ],
)
def test_an_agents_output_tells_of_a_call_of_which_all_spans_were_lost(
    kept: tuple[int, ...], expected: tuple[list[str], list[str]]
) -> None:
    """That of LangGraph or Pydantic AI holds the conversation. No request that is left was told of the call."""
    said = [
        user("book"),
        asked(("c1", "find", {})),
        result("c1", "found"),
        asked(("c2", "pay", {})),
        result("c2", "paid"),
    ]
    spans = [
        model_span([("c1", "find", {})], 2, at=0),
        tool_span("find", {}, 3, at=12, lasting=5, call_id="c1"),
        model_span([("c2", "pay", {})], 4, at=20),
        tool_span("pay", {}, 5, at=32, lasting=5, call_id="c2"),
        model_span((), 6, at=40),
    ]
    agent = agent_span(attributes={"gen_ai.output.messages": json.dumps(said)})
    run = run_of(agent, *(spans[at] for at in kept))
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize("in_event", [False, True])
@pytest.mark.parametrize(
    ("answer", "failed", "expected"),
    [
        ("All of it was paid, thank you.", False, ["unrecorded_calls"]),
        ("Let me pay it.", False, []),  # as a run ends at a limit, with what its model said last
        ("Sorry, need more steps to process this request.", False, []),
        ("'pay' tool call limit reached: run limit exceeded (2/1 calls)", False, []),
        (
            "All of it was paid, thank you.",
            True,
            ["uncertain_execution", "unobserved_results"],
        ),  # perhaps it failed the run
    ],
)
def test_an_answer_that_no_recorded_request_gave_tells_that_all_after_the_last_of_them_was_lost(
    answer: str, failed: bool, expected: list[str], in_event: bool
) -> None:
    told: dict[str, Any] = {"attributes": said(answer)}
    if in_event:  # as of Strands
        told = {"events": [("gen_ai.choice", {"message": answer, "finish_reason": "end_turn"})]}
    asking = asked(("c2", "pay", {}))
    asking["parts"].insert(0, {"type": "text", "content": "Let me pay it. "})
    run = run_of(
        agent_span(**told, status=2 if failed else 0),
        model_span([("c1", "find", {})], 2, at=0),
        tool_span("find", {}, 3, at=12, lasting=5, call_id="c1"),
        model_span((), 4, at=20, attributes={"gen_ai.output.messages": json.dumps([asking])}),
    )
    assert (called(run), doubts(run)) == (["find", "(pay)"], expected)


@pytest.mark.parametrize(
    ("starts", "is_lacking"), [([20], True), ([15, 20], False), ([5, 25], False), ([20, 25], False)]
)
def test_a_call_that_begins_with_a_request_is_the_answer_of_one(starts: list[float], is_lacking: bool) -> None:
    asks, stops = ({"gen_ai.response.finish_reasons": [reason]} for reason in ("tool_calls", "stop"))
    requests = [
        model_span((), 2, at=0, lasting=0, attributes=asks),
        model_span((), 3, at=20, lasting=0, attributes=asks),
    ]
    tools = [tool_span("pay", {}, number, at=start, lasting=1) for number, start in enumerate(starts, 4)]
    run = run_of(agent_span(), *requests, *tools, model_span((), 9, at=40, attributes=stops))
    assert ("unrecorded_calls" in doubts(run)) is is_lacking


def said(text: str | None) -> dict[str, Any]:
    parts = [] if text is None else [{"type": "text", "content": text}]
    return {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}


@pytest.mark.parametrize(
    ("answer", "expected"), [(said(""), ["unrecorded_calls"]), (said(None), ["unrecorded_calls"]), (said("Paid."), [])]
)
def test_an_answer_without_words_requested_what_was_not_recorded(answer: dict[str, Any], expected: list[str]) -> None:
    requests = [model_span((), 2, at=0, attributes=answer), model_span((), 3, at=20, attributes=said("Done."))]
    assert doubts(run_of(agent_span(), *requests)) == expected
    paid = tool_span("pay", {}, 4, at=12, lasting=5)
    assert doubts(run_of(agent_span(), *requests, paid)) == []


def test_an_action_in_words_requested_a_call() -> None:
    acting, done = 'Thought: pay\nAction: pay\nAction Input: {"sum": 5}', "Thought: I know\nFinal Answer: paid"
    asked_in_words, answered, imagined = map(said, (acting, done, f"{acting}\nObservation: paid\n{done}"))
    stops = {"gen_ai.response.finish_reasons": ["stop"]}
    acts = model_span((), 2, at=0, attributes={**asked_in_words, **stops})
    answers = model_span((), 3, at=20, attributes=answered)
    run = run_of(agent_span(), acts, answers)
    assert (called(run), run.trajectory.calls[0].arguments, doubts(run)) == (
        ["pay"],
        {"sum": 5},
        ["unobserved_results"],
    )
    assert doubts(run_of(agent_span(), acts, tool_span("pay", {"sum": 5}, 4, at=12, lasting=5), answers)) == []
    # An input that is no object names no parameter, and what the model wrote is not read.
    words = model_span((), 2, at=0, attributes={**said("Action: pay\nAction Input: five"), **stops})
    assert doubts(run_of(agent_span(), words, answers)) == ["unrecorded_calls"]
    # Frameworks stop at the final answer, and take nothing before it for a request.
    assert doubts(run_of(agent_span(), model_span((), 2, at=0, attributes=imagined))) == []


def test_a_call_that_left_no_span_between_requests_that_have_no_content_leaves_the_run_open() -> None:
    def request(number: int, at: float) -> Span:
        return span("acme.completion", number, 1, at, scope="@traceloop/instrumentation-acme", kind=3)

    requests = [request(2, 0), request(3, 20), request(4, 40)]
    run = run_of(agent_span(), *requests, tool_span("pay", {"n": 1}, 5, at=32, lasting=5))
    assert (called(run), doubts(run)) == (["pay"], ["unrecorded_calls"])


def test_what_an_agent_asked_for_last_may_not_have_run() -> None:
    """An agent that was told a result would ask again, unless it ended with the call: nothing tells."""
    request = model_span([("c1", "pay", {})], 2, at=0)
    assert doubts(run_of(agent_span(), request)) == ["uncertain_execution", "unobserved_results"]
    # Of an application only its requests may be recorded.
    assert doubts(run_of(span("POST", 1), request)) == ["unobserved_results"]


@pytest.mark.parametrize(
    ("end", "doubted"), [("", ["uncertain_execution", "unreadable_arguments"]), ("x" * 128, ["unreadable_arguments"])]
)
def test_a_tool_that_was_asked_for_with_arguments_that_are_no_json_may_not_have_run(
    end: str, doubted: list[str]
) -> None:
    """AutoGen's span of a call that it could not parse ends well. A long text may have been cut."""
    arguments = '{"city": "Oslo' + end
    asked = model_span([("c1", "book", arguments)], at=0, lasting=2)
    call = tool_span("book", at=5, lasting=1, attributes={"gen_ai.tool.call.arguments": arguments})
    assert doubts(run_of(agent_span(lasting=50), asked, call)) == doubted


@pytest.mark.parametrize(
    ("status", "doubted"), [(2, ["uncertain_execution", "unreadable_arguments"]), (1, ["unreadable_arguments"])]
)
def test_a_call_that_failed_with_arguments_that_are_no_json_may_not_have_run(status: int, doubted: list[str]) -> None:
    attributes = {"gen_ai.tool.call.arguments": '{"city": "Oslo'}
    assert doubts(run_of(agent_span(), tool_span("book", status=status, attributes=attributes))) == doubted


@pytest.mark.parametrize(
    ("language", "scope", "reason", "doubted"),
    [
        ("nodejs", "own", "", ["unrecorded_calls"]),
        ("nodejs", "own", "stop", []),
        ("nodejs", "@traceloop/instrumentation-anthropic", "", ["unrecorded_calls"]),  # of which more is noted
        ("python", "own", "", []),  # its SDK drops the oldest attributes, which are of what the model was told
    ],
)
def test_an_answer_of_which_the_sdk_may_have_dropped_attributes_may_have_asked_for_calls(
    language: str, scope: str, reason: str, doubted: list[str]
) -> None:
    told = [user("go"), asked(("c1", "find", {})), result("c1", "AF123")]
    answer: dict[str, Any] = {
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "So:"}]}])
    }
    answer |= {"gen_ai.response.finish_reasons": [reason]} if reason else {}
    resource = Resource({"telemetry.sdk.language": language})
    last = model_span((), 3, at=20, input_messages=told, attributes=answer, resource=resource, scope=scope)
    last.lacks_attributes = True
    run = run_of(span("POST /", 1, lasting=100), model_span([("c1", "find", {})], 2), last)
    assert (called(run), doubts(run)) == (["find"], doubted)


@pytest.mark.parametrize(
    ("language", "answer", "doubted"),
    [
        ("java", {}, ["unrecorded_calls"]),
        ("java", {"gen_ai.response.finish_reasons": ["stop"]}, []),
        (
            "java",
            {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "So:"}]}]'},
            [],
        ),
        ("python", {}, []),  # its SDK drops the oldest events
    ],
)
def test_an_answer_that_may_have_been_in_events_the_sdk_dropped_may_have_asked_for_calls(
    language: str, answer: dict[str, Any], doubted: list[str]
) -> None:
    told = [user("go"), asked(("c1", "find", {})), result("c1", "AF123")]
    resource = Resource({"telemetry.sdk.language": language})
    last = model_span((), 3, at=20, input_messages=told, attributes=answer, resource=resource)
    trace = [span("POST /", 1, lasting=100), model_span([("c1", "find", {})], 2), last]
    assert doubts(run_of(*trace)) == []
    last.lacks_events = True
    assert (called(run_of(*trace)), doubts(run_of(*trace))) == (["find"], doubted)


def test_that_no_call_failed_is_not_told_where_the_sdk_dropped_attributes() -> None:
    """The result of the second call was in an attribute that came after the others."""
    told = [user("go"), asked(("c1", "find", {}), ("c2", "pay", {})), result("c1", "AF123")]
    last = model_span((), 3, at=20, input_messages=told)
    (whole,) = genai_spans([last])
    last.lacks_attributes = True
    (lossy,) = genai_spans([last])
    assert (whole.tool_results, lossy.tool_results) == ((), None)


def test_a_call_that_no_answer_asked_for_tells_that_one_was_lost_with_other_calls() -> None:
    """Only the last request tells of the search, which has no span: the answer that asked for both was lost."""
    told = [
        user("go"),
        asked(("", "pay", {})),
        result("", "paid"),
        asked(("", "search", {}), ("", "mail", {})),
        result("", "found"),
        result("", "sent"),
    ]
    run = run_of(
        agent_span(),
        model_span([(None, "pay", {})], 2, at=1, lasting=5),
        tool_span("pay", {}, 3, at=10, lasting=5),
        tool_span("mail", {}, 4, at=40, lasting=5),
        model_span((), 5, at=60, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert [(call.name, call.step, call.known_by) for call in run.trajectory.calls] == [
        ("pay", 0, "span"),
        ("mail", 1, "span"),
        ("search", 1, "result"),
    ]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([["pay", "look"]], ["(look)", "pay", "uncertain_execution"]),
        ([["pay", "look"], ["look"]], ["(look)", "look", "pay", "uncertain_execution"]),
        ([["pay"], ["look"]], ["(look)", "pay"]),
    ],
    ids=["beside a call that ran", "a tool known to leave no span", "a limit of turns"],
)
def test_a_call_asked_for_last_of_a_tool_that_leaves_no_spans_may_have_run(
    turns: list[list[str]], expected: list[str]
) -> None:
    """The request that was told its result may be what was lost. Only the tool `pay` leaves spans."""
    told = [user("go")]
    spans = [agent_span()]
    for turn, names in enumerate(turns):
        calls = [(f"call_{turn}_{name}_0000", name, {"n": turn}) for name in names]
        at, number = 100 * turn + 10, 10 * turn + 10
        spans.append(model_span(calls, number, at=at, input_messages=told))
        for call_id, name, arguments in calls:
            if name == "pay":
                spans.append(tool_span(name, arguments, number + 1, call_id=call_id, at=at + 20, status=1))
        told = [*told, asked(*calls), *[result(call_id, "done") for call_id, _, _ in calls]]
    run = run_of(*spans)
    found = [doubt for doubt in doubts(run) if doubt != "unobserved_results"]
    made = sorted(call.name if call.executed else f"({call.name})" for call in run.trajectory.calls)
    assert made + found == expected


@pytest.mark.parametrize("began", [-500, 500], ids=["before", "after"])
def test_a_call_of_a_lost_answer_is_not_that_of_another_agent_which_asked_for_an_equal_one_alone(began: int) -> None:
    """Of the answer that asked for both, a later request tells. The other agent has nothing to do with it."""
    told = [
        user("go"),
        asked((None, "find", {})),
        result("", "found"),
        asked((None, "look", {"n": 1}), (None, "pay", {"n": 1})),
        result("", "seen"),
        result("", "paid"),
    ]
    runs = runs_of(
        span("POST /", 1, at=-900, lasting=2000),
        agent_span("one", 2, 1, at=0, lasting=100),
        model_span([(None, "find", {})], 8, 2, at=1, lasting=5),
        tool_span("find", {}, 9, 2, at=10, lasting=5),
        tool_span("pay", {"n": 1}, 3, 2, at=30, lasting=5),
        model_span((), 4, 2, at=60, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
        agent_span("other", 5, 1, at=began, lasting=100),
        model_span([(None, "look", {"n": 1})], 6, 5, at=began + 10, lasting=5),
        tool_span("look", {"n": 1}, 7, 5, at=began + 30, lasting=5),
    )
    found = {run.agent: (sorted(called(run)), other_doubts(run)) for run in runs}
    assert found == {"one": (["find", "look", "pay"], ["unobserved_results"]), "other": (["look"], [])}


def test_an_id_used_again_is_not_that_of_a_call_which_an_answer_of_no_content_asked_for() -> None:
    again = [user("go"), asked(("call_0", "pay", {})), result("call_0", "Error: declined")]
    told = [*again, asked(("call_0", "pay", {})), result("call_0", "paid")]
    run = run_of(
        agent_span(),
        model_span((), 2, at=1, lasting=5),
        model_span([("call_0", "pay", {})], 3, at=20, lasting=5, input_messages=again),
        model_span((), 4, at=40, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert [(call.name, call.status, call.step) for call in run.trajectory.calls] == [
        ("pay", "error", 0),
        ("pay", "ok", 1),
    ]


def test_what_a_request_was_told_is_not_of_the_call_that_it_asks_for_under_the_same_id() -> None:
    """Each request of the conversation is a trace of its own."""
    told = [user("go"), asked(("call_0", "look", {})), result("call_0", "seen")]
    run = run_of(model_span([("call_0", "pay", {})], 2, 0, input_messages=told))
    assert "other_traces" in doubts(run)
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "unset")]


def test_a_result_with_an_id_of_its_own_is_not_of_a_call_before_an_answer_that_is_unknown() -> None:
    """The second answer, of no content, asked for the call that failed."""
    first, second = ("call_7Hq0Zk3A", "pay", {"n": 1}), ("call_9Lm2Xw5B", "pay", {"n": 2})
    before = [user("go"), asked(first), result(first[0], "paid")]
    told = [*before, asked(second), result(second[0], "Error: declined")]
    run = run_of(
        agent_span(),
        model_span([first], 2, at=1, lasting=5),
        model_span((), 3, at=20, lasting=5),
        model_span((), 4, at=40, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert [(call.id, call.status, call.step) for call in run.trajectory.calls] == [
        (first[0], "ok", 0),
        (second[0], "error", 1),
    ]


def test_what_an_agent_was_told_of_besides_what_it_began_with_are_its_own_calls() -> None:
    """After a handoff; the answer that asked for the call was lost, and its tool leaves no span."""
    given = [user("go"), asked(("call_7Hq0Zk3A", "look", {})), result("call_7Hq0Zk3A", "seen")]
    told = [*given, asked(("call_9Lm2Xw5B", "pay", {})), result("call_9Lm2Xw5B", "paid")]
    runs = runs_of(
        span("POST /", 1, lasting=900),
        agent_span("one", 2, 1, at=0, lasting=100),
        model_span([("call_7Hq0Zk3A", "look", {})], 3, 2, at=1, lasting=5),
        tool_span("look", {}, 4, 2, at=10, lasting=5, call_id="call_7Hq0Zk3A"),
        agent_span("two", 5, 1, at=200, lasting=100, attributes={"gen_ai.input.messages": json.dumps(given)}),
        model_span((), 6, 5, at=260, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert {run.agent: called(run) for run in runs} == {"one": ["look"], "two": ["pay"]}


def test_a_call_told_with_an_id_of_its_own_is_not_an_equal_one_that_an_earlier_input_told_of() -> None:
    """After a handoff. The last input was trimmed, and the answer that asked for the second `pay` was lost."""
    given = [user("go"), asked(("call_7Hq0Zk3A", "pay", {})), result("call_7Hq0Zk3A", "Error: declined")]
    own = [asked(("call_8Jk1Yv4C", "look", {})), result("call_8Jk1Yv4C", "seen")]
    told = [user("go"), *own, asked(("call_9Lm2Xw5B", "pay", {})), result("call_9Lm2Xw5B", "paid")]
    runs = runs_of(
        span("POST /", 1, lasting=900),
        agent_span("one", 2, 1, at=0, lasting=100),
        model_span([("call_7Hq0Zk3A", "pay", {})], 3, 2, at=1, lasting=5),
        tool_span("pay", {}, 4, 2, at=10, lasting=5, call_id="call_7Hq0Zk3A", status=2),
        agent_span("two", 5, 1, at=200, lasting=200),
        model_span([("call_8Jk1Yv4C", "look", {})], 6, 5, at=210, lasting=5, input_messages=given),
        tool_span("look", {}, 7, 5, at=220, lasting=5, call_id="call_8Jk1Yv4C"),
        tool_span("pay", {}, 8, 5, at=240, lasting=5, call_id="call_9Lm2Xw5B"),
        model_span((), 9, 5, at=260, lasting=5, input_messages=told, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert {run.agent: called(run) for run in runs} == {"one": ["pay"], "two": ["look", "pay"]}


def test_a_call_told_with_an_id_of_its_own_is_not_one_that_a_recorded_answer_asked_for_with_another_id() -> None:
    """The conversation was trimmed, so that the input lacks the first `pay`; the answer that asked for two was lost."""
    first, second = ("call_7Hq0Zk3A", "pay", {"n": 1}), ("call_8Jk1Yv4C", "pay", {"n": 1})
    lost = [("call_9Lm2Xw5B", "pay", {"n": 2}), ("call_0Np3Vx6D", "pay", {"n": 1})]
    told = [asked(second), result("call_8Jk1Yv4C", "paid"), asked(*lost)]
    told += [result("call_9Lm2Xw5B", "paid"), result("call_0Np3Vx6D", "paid")]
    run = run_of(
        agent_span("one", 1, lasting=400),
        model_span([first], 2, at=1, lasting=5),
        tool_span("pay", {"n": 1}, 3, at=10, lasting=5, call_id="call_7Hq0Zk3A", status=2, message="declined"),
        model_span(
            [second], 4, at=20, lasting=5, input_messages=[asked(first), result("call_7Hq0Zk3A", "Error: declined")]
        ),
        tool_span("pay", {"n": 1}, 5, at=30, lasting=5, call_id="call_8Jk1Yv4C"),
        tool_span("pay", {"n": 2}, 6, at=60, lasting=5, call_id="call_9Lm2Xw5B"),
        tool_span("pay", {"n": 1}, 7, at=70, lasting=5, call_id="call_0Np3Vx6D"),
        model_span([("call_1Qr4Yz7E", "look", {})], 8, at=80, lasting=5, input_messages=[user("So far: ..."), *told]),
        tool_span("look", {}, 9, at=90, lasting=5, call_id="call_1Qr4Yz7E"),
    )
    assert [(call.id, call.step) for call in run.trajectory.calls] == [
        ("call_7Hq0Zk3A", 0),
        ("call_8Jk1Yv4C", 1),
        ("call_9Lm2Xw5B", 2),
        ("call_0Np3Vx6D", 2),
        ("call_1Qr4Yz7E", 3),
    ]


def test_a_call_that_began_after_a_model_had_been_told_of_another_is_not_that_one() -> None:
    """Ids number the calls of each answer. What was called before comes with the first input, and the last answer was lost."""
    given = [user("go"), asked(("call_0", "pay", {"n": 1})), result("call_0", "paid")]
    own = [asked(("call_0", "look", {})), result("call_0", "seen")]
    last = [asked(("call_0", "pay", {"n": 2})), result("call_0", "paid")]
    runs = runs_of(
        span("POST /", 1, lasting=900),
        agent_span("one", 2, 1, at=0, lasting=100),
        model_span([("call_0", "pay", {"n": 1})], 3, 2, at=1, lasting=5),
        tool_span("pay", {"n": 1}, 4, 2, at=10, lasting=5, call_id="call_0"),
        agent_span("two", 5, 1, at=200, lasting=200),
        model_span([("call_0", "look", {})], 6, 5, at=210, lasting=5, input_messages=given),
        tool_span("look", {}, 7, 5, at=220, lasting=5, call_id="call_0"),
        tool_span("pay", {"n": 2}, 8, 5, at=240, lasting=5, call_id="call_0"),
        model_span((), 9, 5, at=260, lasting=5, input_messages=[*given, *own, *last]),
    )
    assert {run.agent: called(run) for run in runs} == {"one": ["pay"], "two": ["look", "pay"]}


def searched(call_id: str) -> dict[str, Any]:
    """An answer of a model whose provider ran a search."""
    call = {"type": "server_tool_call", "id": call_id, "name": "web_search", "server_tool_call": {"type": "web_search"}}
    told = {"type": "web_search", "results": []}
    response = {"type": "server_tool_call_response", "id": call_id, "server_tool_call_response": told}
    return {"role": "assistant", "parts": [call, response]}


def test_a_call_of_the_provider_that_only_a_later_input_tells_of_is_not_an_earlier_one() -> None:
    """The conversation was trimmed, so that the input lacks the first, and the answer with the second was not recorded."""
    pay: tuple[str, str, Any] = ("call_7Hq0Zk3A", "pay", {})
    look: tuple[str, str, Any] = ("call_8Jk1Yv4C", "look", {})
    output = json.dumps([searched("srvtoolu_01Aa1111"), asked(pay)])
    told = [searched("srvtoolu_01Bb2222"), asked(look), result("call_8Jk1Yv4C", "seen")]
    run = run_of(
        agent_span("one", 1, lasting=400),
        model_span((), 2, at=1, lasting=5, attributes={"gen_ai.output.messages": output}),
        tool_span("pay", {}, 3, at=10, lasting=5, call_id="call_7Hq0Zk3A"),
        model_span((), 4, at=20, lasting=5, input_messages=[user("go"), asked(pay), result("call_7Hq0Zk3A", "paid")]),
        tool_span("look", {}, 5, at=30, lasting=5, call_id="call_8Jk1Yv4C"),
        model_span((), 6, at=40, lasting=5, input_messages=[user("So far: ..."), *told]),
    )
    assert sorted(called(run)) == ["look", "pay", "web_search", "web_search"]


def test_the_provider_may_have_run_a_call_in_the_last_answer_if_it_was_not_recorded() -> None:
    output = {"gen_ai.output.messages": json.dumps([searched("srvtoolu_01Aa1111")])}
    run = run_of(
        agent_span("one", 1, lasting=400),
        model_span((), 2, at=1, lasting=5, attributes=output),
        model_span((), 3, at=10, lasting=5, input_messages=[user("go on")]),
    )
    assert doubts(run) == ["unrecorded_calls"]


@pytest.mark.parametrize(
    ("city", "status", "expected"), [("Rome", 0, ["uncertain_execution"]), ("Oslo", 0, []), ("Rome", 2, [])]
)
def test_a_cache_may_have_answered_a_call_of_no_span_that_is_equal_to_one_before(
    city: str, status: int, expected: list[str]
) -> None:
    """A loop that is written by hand, which opens a span around the tool alone. A failure is not kept."""
    told = [user("Rome?"), asked(("c1", "weather", {"city": "Rome"})), result("c1", "sunny")]
    later = [*told, asked(("c2", "weather", {"city": city})), result("c2", "sunny")]
    run = run_of(
        agent_span(lasting=100),
        model_span([("c1", "weather", {"city": "Rome"})], 2, at=10),
        tool_span("weather", {"city": "Rome"}, 3, at=25, lasting=5, call_id="c1", status=status),
        model_span([("c2", "weather", {"city": city})], 4, at=40, input_messages=told),
        model_span((), 5, at=60, input_messages=later),
    )
    assert called(run) == ["weather", "weather"]
    assert [name for name in doubts(run) if name == "uncertain_execution"] == expected
