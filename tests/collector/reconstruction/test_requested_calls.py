"""The calls that models requested, each once, and the status of their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from collector.reconstruction.drafts import by_start
from collector.reconstruction.requested_calls import RequestedCall, requested_calls
from tests.builders import agent_span, asked, called, doubts, genai_spans, model_span, result, run_of, tool_span, user

ASKS = {"gen_ai.response.finish_reasons": ["tool_calls"]}


def requested(*models: Any) -> list[RequestedCall]:
    return requested_calls(sorted(genai_spans(models), key=by_start))


def test_turns_and_positions() -> None:
    found = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1),
        model_span(number=3, at=20),
        model_span([("c3", "c", {})], 4, at=40),
    )
    assert [(one.name, one.turn, one.position) for one in found] == [("a", 0, 0), ("b", 0, 1), ("c", 1, 0)]


def test_calls_after_results_in_one_answer_are_of_later_turns() -> None:
    """As OpenLLMetry (0.27) writes the loop of Google's SDK for JavaScript, of a stream."""
    parts = [
        {"type": "tool_call", "id": "a1", "name": "look", "arguments": {}},
        {"type": "tool_call", "id": "a2", "name": "pay", "arguments": {}},
        {"type": "tool_call_response", "id": "a1", "response": {"result": "ok"}},
        {"type": "tool_call_response", "id": "a2", "response": {"result": "ok"}},
        {"type": "tool_call", "id": "a3", "name": "look", "arguments": {}},
        {"type": "tool_call_response", "id": "a3", "response": {"result": "ok"}},
    ]
    first = model_span(number=2, at=1)
    first.attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    found = requested(first, model_span([("b1", "send", {})], 3, at=20))
    assert [(one.name, one.turn, one.position) for one in found] == [
        ("look", 0, 0), ("pay", 0, 1), ("look", 1, 2), ("send", 2, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "second", "expected"),
    [
        ("call_", ("pay", "book"), ["pay", "pay", "book"]),  # they number the calls of each answer
        ("toolu_01A09q90", ("pay", "book"), ["pay", "book"]),  # the second answer repeats the first
        ("toolu_01A09q90", ("ship", "book"), ["pay", "ship", "book"]),
    ],
)
def test_a_call_that_is_asked_for_again_beside_others(ids: str, second: tuple[str, str], expected: list[str]) -> None:
    told = [user("go"), asked((f"{ids}0", "pay", {})), result(f"{ids}0", "Error: declined")]
    found = requested(
        model_span([(f"{ids}0", "pay", {})], 2, at=1, input_messages=[user("go")]),
        model_span([(f"{ids}{at}", name, {}) for at, name in enumerate(second)], 3, at=20, input_messages=told),
    )
    assert [one.name for one in found] == expected


def test_results_are_matched_by_id() -> None:
    results = [{"role": "assistant"}, result("c1", "Error: no"), result("c2", "fine")]
    found = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1),
        model_span([("c3", "c", {})], 3, at=20, input_messages=results),
    )
    assert [one.result_status for one in found] == ["error", "ok", None]


def test_results_without_known_ids_are_matched_by_position_only_if_all_are_present() -> None:
    results = [{"role": "assistant"}, result("x1", "Error: no")]
    one = requested(model_span([("c1", "a", {})], 2, at=1), model_span(number=3, at=20, input_messages=results))
    two = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1), model_span(number=3, at=20, input_messages=results)
    )
    assert [found.result_status for found in one] == ["error"]
    assert [found.result_status for found in two] == [None, None]


def test_a_response_without_calls_does_not_hide_earlier_requests() -> None:
    results = [{"role": "assistant"}, result("x1", "Error: no")]
    found = requested(
        model_span([("c1", "a", {})], 2, at=1),
        model_span(number=3, at=10),
        model_span(number=4, at=20, input_messages=results),
    )
    assert [one.result_status for one in found] == ["error"]


def test_no_models() -> None:
    assert requested() == []


def test_equal_requests_without_an_end_are_two() -> None:
    models = [model_span([(None, "pay", {"n": 1})], number, at=10 * number) for number in (2, 3)]
    for model in models:
        model.end_ns = 0
    assert len(requested(*models)) == 2


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ({"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r2", **ASKS}, 2),
        ({"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r2"}, 1),  # it only repeats what was said before
        ({"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r1", **ASKS}, 1),
        ({}, {"gen_ai.response.id": "r2", **ASKS}, 1),
        ({"gen_ai.response.id": "r1", "error.type": "timeout"}, {"gen_ai.response.id": "r2", **ASKS}, 1),
    ],
)
def test_an_id_that_a_provider_uses_again_in_another_answer_is_of_another_call(
    first: dict[str, Any], second: dict[str, Any], count: int
) -> None:
    calls = [("call_0", "poll", {"n": 1})]
    found = requested(model_span(calls, 2, at=1, attributes=first), model_span(calls, 3, at=20, attributes=second))
    assert len(found) == count


@pytest.mark.parametrize(("response", "count"), [("r2", 2), ("r1", 1)])
def test_ids_that_a_tracer_numbers_anew_in_each_answer_are_of_other_calls(response: str, count: int) -> None:
    """google-genai's official instrumentation: Google's models give no ids, and end an answer with calls like any other."""
    poll: list[tuple[str | None, str, Any]] = [("poll_0", "poll", {})]
    told = [user("Again."), asked(("poll_0", "poll", {})), result("poll_0", "busy")]
    found = requested(
        model_span(poll, 2, at=10, input_messages=[user("Poll.")], attributes={"gen_ai.response.id": "r1"}),
        model_span(poll, 3, at=30, input_messages=[user("Again.")], attributes={"gen_ai.response.id": response}),
        model_span((), 4, at=50, input_messages=told, attributes={"gen_ai.response.id": "r3"}),
    )
    assert len(found) == count


@pytest.mark.parametrize(("again", "names"), [("go", ["(pay)", "pay"]), ("something else", ["pay", "pay"])])
def test_a_request_sent_again_with_the_same_words_discards_the_first_answer(again: str, names: list[str]) -> None:
    told = [user("go"), asked(("c2", "pay", {})), result("c2", "paid")]
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {})], 2, at=10, input_messages=[user("go")]),
        model_span([("c2", "pay", {})], 3, at=30, input_messages=[user(again)]),
        model_span((), 4, at=50, input_messages=told),
    )
    assert called(run) == names


def joined(arguments: str) -> Any:
    """A model request whose answer was recorded by an instrumentation that joins the calls of a stream into one."""
    return model_span([("c1c2", "getpay", arguments)], 2, 0, at=1, attributes=ASKS)


@pytest.mark.parametrize("arguments", ['{"n": 1}{"n": 2}', '{"n": "}{"} \n{}'])
def test_calls_that_a_stream_joined_into_one_are_those_that_the_next_request_tells_of(arguments: str) -> None:
    told = [
        user("Pay."),
        asked(("c1", "get", {})),
        asked(("c2", "pay", {})),
        result("c1", "fine"),
        result("c2", "fine"),
    ]
    answer = model_span(number=3, parent=0, at=20, input_messages=told)
    assert [(one.id, one.name) for one in requested(joined(arguments))] == []
    run = run_of(joined(arguments), answer)
    assert (called(run), doubts(run)) == (["get", "pay"], [])


def test_calls_that_a_stream_joined_into_one_and_nothing_tells_apart_are_unrecorded() -> None:
    run = run_of(joined('{"n": 1}{"n": 2}'))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


@pytest.mark.parametrize("arguments", ['{"n": "}{"}', '{"n": 1}{', "{}[]", "n}{n"])
def test_arguments_that_are_not_several_objects_are_of_one_call(arguments: str) -> None:
    assert [one.name for one in requested(joined(arguments))] == ["getpay"]


def told(*texts: str) -> list[dict[str, Any]]:
    """Results as openlit records them: without ids, and without the model's own messages between them."""
    return [{"role": "tool", "parts": [{"type": "text", "content": text}]} for text in texts]


@pytest.mark.parametrize(
    ("texts", "statuses"),
    [(("Error: declined", "paid"), ["error", "ok"]), (("paid", "Error: declined"), ["ok", "error"])],
)
def test_results_without_ids_are_those_of_the_newest_calls(texts: tuple[str, str], statuses: list[str]) -> None:
    pay = ("pay", {"order": 7})
    run = run_of(
        agent_span(),
        model_span([("c1", *pay)], 2, at=1),
        model_span([("c2", *pay)], 3, at=20, input_messages=[user("pay"), *told(texts[0])]),
        model_span(number=4, at=40, input_messages=[user("pay"), *told(*texts)]),
    )
    assert [call.status for call in run.trajectory.calls] == statuses


def test_results_with_other_ids_than_requests_have_to_be_as_many() -> None:
    first = result("x1", "Error: declined")
    found = requested(
        model_span([("c1", "pay", {})], 2, at=1),
        model_span(number=3, at=20, input_messages=[user("pay"), result("x0", "paid"), first]),
    )
    assert found[0].result_status is None


@pytest.mark.parametrize(("again", "statuses"), [("paid", ["error", "ok"]), ("Error: no", ["error", "error"])])
def test_equal_calls_that_only_inputs_tell_of_have_results_of_their_own(again: str, statuses: list[str]) -> None:
    """OpenLLMetry for Ollama, which gives calls no ids: no answer is recorded, and each input repeats those before it."""
    call = {"role": "assistant", "parts": [{"type": "tool_call", "name": "pay", "arguments": {"order": 7}}]}
    once = [user("pay"), call, *told("Error: declined")]
    run = run_of(
        agent_span(),
        model_span(number=2, at=1, input_messages=[user("pay")]),
        model_span(number=3, at=20, input_messages=once),
        model_span(number=4, at=40, input_messages=[*once, call, *told(again)]),
    )
    assert [call.status for call in run.trajectory.calls] == statuses


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"raw": '{"order": '}, ["uncertain_execution", "unreadable_arguments"]),
        ('{"order": ', ["uncertain_execution", "unreadable_arguments"]),
        ({"raw": '{"order": 7}'}, []),  # a tool's own argument
        ({"raw": "order 7"}, []),
    ],
)
def test_a_call_whose_arguments_are_no_json_may_not_have_run(arguments: Any, expected: list[str]) -> None:
    """openlit keeps such a text in an object of its own."""
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", arguments)], 2, at=1),
        model_span(number=3, at=20, input_messages=[result("c1", "Error: these are no arguments")]),
    )
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_request_is_not_answered_by_the_client_inside() -> None:
    """MLflow's spans of OpenAI's agents: the tool does not exist, and the run ends for that."""
    calls: list[tuple[str | None, str, Any]] = [("c1", "drop", {})]
    run = run_of(agent_span(), model_span(calls, 2, at=1, lasting=20), model_span(calls, 3, 2, at=5, lasting=10))
    assert (called(run), doubts(run)) == (["drop"], ["uncertain_execution", "unobserved_results"])


def test_a_request_is_not_answered_by_the_client_beside_it_that_got_the_same_answer() -> None:
    """Anthropic's SDK has spans of its own, without content; OpenLLMetry's are not current meanwhile. The loop stopped here."""
    answer = {**ASKS, "gen_ai.response.id": "msg_1"}
    outer = model_span([("c1", "pay", {})], 2, at=1, lasting=20, attributes=answer)
    run = run_of(agent_span(), outer, model_span((), 3, at=5, lasting=10, attributes=answer))
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution", "unobserved_results"])


@pytest.mark.parametrize(
    ("told", "others", "first", "is_open"),
    [
        ("Error: these are no arguments", True, "(pay)", False),  # no span, where the tool has one the second time
        ("Error: these are no arguments", False, "pay", True),
        ("Error: invalid JSON arguments: line 1", False, "(pay)", False),
        ("paid", True, "pay", True),
    ],
)
def test_a_call_whose_arguments_are_no_json_did_not_run_where_a_second_sign_agrees(
    told: str, others: bool, first: str, is_open: bool
) -> None:
    broken = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": '{"order": '}
    before = [user("pay"), {"role": "assistant", "parts": [broken]}, result("c1", told)]
    again = {"type": "tool_call", "id": "c2", "name": "pay", "arguments": {"order": 7}}
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", '{"order": ')], 2, at=1),
        model_span([("c2", "pay", {"order": 7})], 3, at=20, input_messages=before),
        *([tool_span("pay", {"order": 7}, 4, at=35, call_id="c2")] if others else []),
        model_span(
            number=5,
            at=50,
            input_messages=[*before, {"role": "assistant", "parts": [again]}, result("c2", "paid")],
        ),
    )
    assert called(run) == [first, "pay"]
    assert ("uncertain_execution" in doubts(run)) == is_open


@pytest.mark.parametrize(
    ("recorded", "expected"), [({}, {"order": 7}), (None, {"order": 7}), ({"order": 8}, {"order": 8})]
)
def test_arguments_that_an_answer_lacks_are_those_that_the_next_request_tells(recorded: Any, expected: Any) -> None:
    told = asked(("c1", "pay", {"order": 7}))
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", recorded)], 2, at=1),
        model_span(number=3, at=20, input_messages=[user("Pay."), told, result("c1", "paid")]),
    )
    assert [call.arguments for call in run.trajectory.calls] == [expected]


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "news"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]}
TEXT = {"type": "text", "content": "All is well."}


def answer(*parts: dict[str, Any], number: int = 2, at: float = 1, **attributes: Any) -> Span:
    """A request to a model whose answer has these parts, and ended."""
    output = {
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    return model_span(number=number, at=at, attributes={**output, **attributes})


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([SEARCH, FOUND, TEXT], "ok"),
        (
            [
                {"type": "server_tool_call", "name": "web_search", "server_tool_call": {"type": "code_execution"}},
                {"type": "server_tool_call_response", "server_tool_call_response": {"outcome": "failed"}},
            ],
            "error",
        ),
        (
            [
                {"type": "tool_call", "id": "s1", "name": "web_search", "arguments": {}, "builtin": True},
                {"type": "tool_call_response", "id": "s1", "name": "web_search", "result": [], "builtin": True},
            ],
            "ok",
        ),
        (
            [
                {"type": "tool-call", "toolCallId": "s1", "toolName": "web_search", "input": {}, "providerExecuted": True},
                {"type": "tool-result", "toolCallId": "s1", "toolName": "web_search", "result": [{"url": "x"}]},
            ],
            "ok",
        ),
        ([{"type": "web_search_call", "id": "s1", "status": "completed", "action": {"query": "news"}}, TEXT], "ok"),
        ([{"type": "mcp_call", "id": "s1", "name": "web_search", "arguments": "{}", "error": "it is down"}], "error"),
    ],
    ids=["Anthropic", "conventions", "Pydantic AI", "AI SDK", "OpenAI", "MCP of OpenAI"],
)  # fmt: skip
@pytest.mark.parametrize("others", [False, True])
def test_a_call_that_the_provider_ran_is_sure_by_its_answer(
    parts: list[dict[str, Any]], expected: str, *, others: bool
) -> None:
    """Whatever spans the agent's own tools have, and whether the provider's are among those that were offered."""
    own = [model_span([("c1", "book", {})], 4, at=1), tool_span("book", {}, 5, at=15, call_id="c1")] if others else []
    offered: dict[str, Any] = {
        "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "book", "parameters": {}}])
    }
    run = run_of(agent_span(), *own, answer(*parts, at=30, **offered))
    searched = run.trajectory.calls[-1]
    assert (called(run), searched.status) == ([*["book"] * others, "web_search"], expected)
    assert (doubts(run), searched.known_by) == ([], "result")


@pytest.mark.parametrize(
    "parts",
    [
        [SEARCH, TEXT],
        [SEARCH, {**FOUND, "tool_use_id": "s2"}],  # of another call
        [{"type": "web_search_call", "id": "s1", "status": "in_progress"}],
        [{"type": "function_call", "call_id": "c1", "name": "web_search", "arguments": "{}", "status": "completed"}],
    ],
)
def test_without_its_result_nothing_tells_whether_a_call_of_the_provider_ran(parts: list[dict[str, Any]]) -> None:
    assert "uncertain_execution" in doubts(run_of(agent_span(), answer(*parts)))


def test_a_call_that_the_provider_did_not_run_for_its_limit_is_none() -> None:
    limit = {**FOUND, "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}
    run = run_of(agent_span(), answer(SEARCH, limit))
    assert (called(run), doubts(run)) == (["(web_search)"], [])


def test_a_provider_that_paused_tells_in_its_next_answer_what_came_of_a_call() -> None:
    run = run_of(agent_span(), answer(SEARCH), answer(FOUND, TEXT, number=3, at=20))
    assert (called(run), doubts(run)) == (["web_search"], [])


def test_results_are_matched_by_position_with_the_calls_that_no_answer_tells_of() -> None:
    own = {"type": "tool_call", "id": "c1", "name": "book", "arguments": {}}
    told = [{"role": "assistant"}, result("x1", "Error: no")]
    found = requested(answer(SEARCH, FOUND, own), model_span(number=3, at=20, input_messages=told))
    assert [(one.provided, one.result_status) for one in found] == [("ok", None), (None, "error")]


def test_an_id_that_is_used_again_is_of_two_calls_where_only_inputs_tell_of_them() -> None:
    """AgentOps leaves the calls out of an answer (0.4); a provider that numbers those of each answer begins anew."""
    first = [user("go"), asked(("call_0", "get", {})), result("call_0", "sunny")]
    second = [*first, asked(("call_0", "mail", {})), result("call_0", "sent")]
    run = run_of(
        agent_span(),
        model_span((), 2, at=1, lasting=5, input_messages=first[:1], attributes=ASKS),
        model_span((), 3, at=20, lasting=5, input_messages=first, attributes=ASKS),
        model_span((), 4, at=40, lasting=5, input_messages=second, attributes={"gen_ai.output.messages": "Done."}),
    )
    assert called(run) == ["get", "mail"]


@pytest.mark.parametrize(("find", "pay"), [("", ""), ("call_1", "call_0")])
def test_equal_calls_of_several_turns_are_told_apart_by_those_beside_them(find: str, pay: str) -> None:
    """The second answer was not recorded: that it asked for the second payment, the last request tells."""
    both: list[tuple[str | None, str, Any]] = [(find or None, "find", {}), (pay or None, "pay", {})]
    parts: list[dict[str, Any]] = [
        {"type": "tool_call", "id": call_id, "name": name, "arguments": {}} for call_id, name, _ in both
    ]
    asked_for_both: dict[str, Any] = {"role": "assistant", "parts": parts}
    told = [
        user("go"),
        asked_for_both,
        result(find, "found"),
        result(pay, "paid"),
        asked((pay, "pay", {})),
        result(pay, "paid"),
    ]
    run = run_of(
        agent_span(),
        model_span(both, 2, at=10, lasting=5),
        tool_span("find", {}, 3, at=20, lasting=5, call_id=find),
        tool_span("pay", {}, 4, at=30, lasting=5, call_id=pay),
        model_span((), 5, at=40, lasting=5),
        tool_span("pay", {}, 6, at=50, lasting=5, call_id=pay),
        model_span((), 7, at=60, lasting=5, input_messages=told),
    )
    in_order = sorted(run.trajectory.calls, key=lambda call: call.start_ns)
    assert [(call.name, call.step) for call in in_order] == [("find", 0), ("pay", 0), ("pay", 1)]


@pytest.mark.parametrize("ids", [(None, None), ("call_0", "call_1")], ids=["none", "used again"])
def test_an_answer_is_known_again_whatever_the_results_of_a_later_one_that_was_not_recorded(
    ids: tuple[str | None, str | None],
) -> None:
    """By position, and by ids that are used again, the results of the second answer seem to be those of the first."""
    first: list[tuple[str | None, str, Any]] = [(ids[0], "find", {}), (ids[1], "pay", {})]
    told = [
        user("go"),
        asked(*first),
        result(ids[0] or "", "found"),
        result(ids[1] or "", "paid"),
        asked((ids[0], "find", {"n": 2}), (ids[1], "pay", {})),
        result(ids[0] or "", "Error: nothing found"),
        result(ids[1] or "", "Error: declined"),
    ]  # fmt: skip
    run = run_of(
        agent_span(),
        model_span(first, 2, at=10, lasting=5),
        tool_span("find", {}, 3, at=20, lasting=5, call_id=ids[0] or ""),
        tool_span("pay", {}, 4, at=30, lasting=5, call_id=ids[1] or ""),
        model_span((), 5, at=40, lasting=5),
        tool_span("find", {"n": 2}, 6, at=50, lasting=5, call_id=ids[0] or "", status=2, message="nothing found"),
        tool_span("pay", {}, 7, at=60, lasting=5, call_id=ids[1] or "", status=2, message="declined"),
        model_span((), 8, at=70, lasting=5, input_messages=told),
    )
    in_order = sorted(run.trajectory.calls, key=lambda call: call.start_ns)
    assert [(call.name, call.step) for call in in_order] == [("find", 0), ("pay", 0), ("find", 1), ("pay", 1)]
    assert not run.trajectory.doubts


def test_a_call_that_is_asked_for_again_is_another_where_the_conversation_was_trimmed_meanwhile() -> None:
    """The framework sends only the last exchange, so the input of the later request is the shorter one."""
    whole = [user("go"), asked(("call_0", "look", {})), result("call_0", "a long text " * 20)]
    trimmed = [user("go"), asked(("call_0", "pay", {})), result("call_0", "Error: declined")]
    found = requested(
        model_span([("call_0", "pay", {})], 2, at=20, input_messages=whole),
        model_span([("call_0", "pay", {})], 3, at=40, input_messages=trimmed),
    )
    assert [(one.name, one.turn) for one in found] == [("pay", 0), ("pay", 1)]
