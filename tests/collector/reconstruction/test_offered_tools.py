"""What the definitions of the tools that a model was offered tell of the calls that it requested."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.refusals import find_refusal
from collector.reconstruction.calls_without_span import accept_repeated
from collector.reconstruction.drafts import DraftCall
from collector.reconstruction.run import Run
from scorers.trajectory import DoubtName
from tests.builders import agent_span, called, doubts, log, model_span, result, run_of, span, tool_span

ANY_FAILURE = "An error occurred while running the tool. Please try again."
BOOKING = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "nights": {"type": "integer"},
        "code": {"type": "string", "pattern": "^B"},
    },
    "required": ["city", "nights"],
}
BOOK = {"type": "function", "name": "book", "parameters": BOOKING}
FITTING = {"city": "Oslo", "nights": 2}


def asked(name: str, arguments: Any, definitions: Any = (BOOK,), **more: Any) -> Any:
    attributes = {"gen_ai.tool.definitions": json.dumps(definitions)}
    return model_span([("c1", name, arguments)], attributes=attributes, **more)


def failed(name: str, arguments: Any, message: str = "boom") -> Any:
    return tool_span(name, arguments, 7, at=20, call_id="c1", status=2, message=message)


def run_with(request: Any, *others: Any) -> Run:
    return run_of(agent_span(), request, *others)


def read(run: Run) -> tuple[list[str], list[str], list[str]]:
    """Returns the tools that ran, those that did not, and the doubts."""
    calls = run.trajectory.calls
    return [c.name for c in calls if c.executed], [c.name for c in calls if not c.executed], doubts(run)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (FITTING, (["book"], [], [])),
        ({"city": "Oslo"}, ([], ["book"], [])),
        ({**FITTING, "code": "A1"}, (["book"], [], ["uncertain_execution"])),
        ({**FITTING, "nights": "2"}, (["book"], [], ["uncertain_execution"])),
        ({**FITTING, "nights": "two"}, ([], ["book"], [])),
    ],
)
def test_one_text_for_all_failures_is_read_by_what_the_tool_takes(arguments: Any, expected: Any) -> None:
    # OpenAI Agents 0.24: the same words for a tool that raised and for arguments that it never got.
    assert read(run_with(asked("book", arguments), failed("book", arguments, ANY_FAILURE))) == expected


@pytest.mark.parametrize(("arguments", "expected"), [(FITTING, []), ({"city": "Oslo"}, ["uncertain_execution"])])
def test_a_call_that_failed_with_arguments_that_the_tool_does_not_take_may_not_have_run(
    arguments: Any, expected: list[str]
) -> None:
    assert read(run_with(asked("book", arguments), failed("book", arguments))) == (["book"], [], expected)


def test_a_call_that_succeeded_ran_whatever_the_tool_takes() -> None:
    # CrewAI writes schemas that require what has a default.
    ran = tool_span("book", {"city": "Oslo"}, 7, at=20, call_id="c1", status=1)
    assert read(run_with(asked("book", {"city": "Oslo"}), ran)) == (["book"], [], [])


def test_an_error_of_python_about_arguments_is_the_tools_own_if_they_fit() -> None:
    message = "TypeError: charge() missing 1 required positional argument: 'amount'"
    assert read(run_with(asked("book", FITTING), failed("book", FITTING, message))) == (["book"], [], [])


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_call_of_a_tool_that_was_not_offered_is_in_doubt(status: int) -> None:
    ran = tool_span("fly", {}, 7, at=20, call_id="c1", status=status)
    assert read(run_with(asked("fly", {}), ran)) == (["fly"], [], ["uncertain_execution"])


@pytest.mark.parametrize("definitions", [[], "", [f"tool {at}" for at in range(256)], {"a": {"b": 1}}])
def test_without_a_whole_list_nothing_is_known_of_what_was_offered(definitions: Any) -> None:
    assert read(run_with(asked("fly", {}, definitions), failed("fly", {}))) == (["fly"], [], [])


@pytest.mark.parametrize(
    ("again", "status", "expected"),
    [
        ({"city": "Oslo"}, 1, []),
        ({"city": "Oslo", "nights": 2}, 1, ["uncertain_execution"]),  # what the model corrected
        ({"city": "Oslo"}, 2, ["uncertain_execution"]),
    ],
)
def test_arguments_fit_with_which_the_same_tool_succeeded(again: Any, status: int, expected: list[str]) -> None:
    first = failed("book", {"city": "Oslo"}, ANY_FAILURE)
    second = tool_span("book", again, 8, at=60, call_id="c2", status=status)
    run = run_of(agent_span(), model_span([("c1", "book", {"city": "Oslo"})]), first, second)
    assert (called(run), doubts(run)) == (["book", "book"], expected)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (ANY_FAILURE, ([], ["book"], ["unreadable_arguments"])),
        ("card declined", (["book"], [], ["uncertain_execution", "unreadable_arguments"])),
    ],
)
def test_arguments_that_are_no_json_and_words_that_may_be_a_refusal_agree(told: str, expected: Any) -> None:
    broken = '{"city": "Oslo", "nights":'
    ran = tool_span("book", number=7, at=20, call_id="c1", status=2, attributes={"gen_ai.tool.call.arguments": broken})
    answer = model_span((), 8, at=60, input_messages=[result("c1", told)])
    assert read(run_with(model_span([("c1", "book", broken)]), ran, answer)) == expected


def test_a_call_that_failed_and_was_refused_for_arguments_that_do_not_fit_did_not_run() -> None:
    """Anthropic's tool runner, whose span says no more than that the tool failed (anthropic 2.14)."""
    ran = tool_span("book", number=7, at=20, call_id="c1", status=2)
    told = result("c1", "ValueError('Invalid arguments for function book')")
    answer = model_span((), 8, at=60, input_messages=[told])
    assert read(run_with(asked("book", {"town": 3}), ran, answer)) == ([], ["book"], [])


@pytest.mark.parametrize(("again", "expected"), [(FITTING, []), ({"city": "Oslo"}, ["uncertain_execution"])])
def test_a_span_that_has_no_more_of_a_failure_than_what_the_model_was_told(again: Any, expected: list[str]) -> None:
    # Splunk's instrumentation of OpenAI Agents: its spans have no status.
    told = {"gen_ai.tool.call.result": ANY_FAILURE}
    first = tool_span("book", FITTING, 7, at=20, attributes=told)
    second = tool_span("book", again, 8, at=60, attributes={"gen_ai.tool.call.result": "booked"})
    run = run_of(agent_span(), model_span([("c1", "book", FITTING)]), first, second)
    assert [call.status for call in run.trajectory.calls] == ["error", "unset"]
    assert doubts(run) == expected


def test_of_two_instrumentations_one_may_know_what_the_tool_takes() -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "book", "input.value": '{"city": "Oslo"}'}
    outer = span(
        "book", 7, 1, 20, 20, attributes={**tool_attributes(), "tool_call.id": "c1"}, status=2, message=ANY_FAILURE
    )
    inner = span(
        "book",
        8,
        7,
        21,
        10,
        attributes={**attributes, "tool.parameters": json.dumps(BOOKING)},
        status=2,
        message=ANY_FAILURE,
    )
    assert read(run_of(agent_span(), outer, inner)) == ([], ["book"], [])


@pytest.mark.parametrize(
    ("doubt", "left"), [("uncertain_execution", None), ("uncertain_duplicate", "uncertain_duplicate"), (None, None)]
)
def test_that_arguments_fit_settles_no_other_doubt(doubt: DoubtName | None, left: DoubtName | None) -> None:
    refused = DraftCall("book", "c1", FITTING, None, "error", None, 20, 30, b"7")
    refused.doubt, refused.refusal = doubt, find_refusal(ANY_FAILURE)
    again = DraftCall("book", "c2", FITTING, None, "ok", None, 60, 70, b"8")
    accept_repeated([refused, again])
    assert (refused.executed, refused.doubt) == (True, left)


def tool_attributes() -> dict[str, str]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "book",
        "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
    }


def test_a_result_of_a_call_without_a_span_is_no_proof_that_it_ran_if_its_arguments_do_not_fit() -> None:
    told = model_span(number=9, at=50, input_messages=[result("c1", "price is missing, my friend")])
    run = run_with(asked("book", {"city": "Oslo"}), told)
    assert (called(run), doubts(run)) == (["book"], ["uncertain_execution"])


@pytest.mark.parametrize(("name", "expected"), [("book", []), ("fly", ["uncertain_execution"])])
def test_a_call_that_only_messages_tell_of_must_have_been_offered(name: str, expected: list[str]) -> None:
    told = model_span(number=9, at=50, input_messages=[result("c1", "done")])
    run = run_with(asked(name, FITTING), told)
    assert (called(run), doubts(run)) == ([name], expected)


def test_definitions_in_flattened_attributes() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": BOOK}),
        f"{call}id": "c1",
        f"{call}function.name": "fly",
        f"{call}function.arguments": "{}",
    }
    model = span("chat", 3, 1, 0, attributes=attributes, lasting=10)
    assert doubts(run_with(model, failed("fly", {}))) == ["uncertain_execution"]


def test_definitions_under_sentrys_name() -> None:
    attributes = {"gen_ai.request.available_tools": json.dumps([BOOK])}
    model = model_span([("c1", "fly", {})], attributes=attributes)
    assert doubts(run_with(model, failed("fly", {}))) == ["uncertain_execution"]


@pytest.mark.parametrize("later", [FITTING, {"city": "Rome", "nights": 2}, {"city": "Oslo"}])
def test_a_call_that_the_model_completed_may_have_lacked_an_argument(later: dict[str, Any]) -> None:
    """What it was told is in words that nobody knows, and what it was offered was not recorded."""
    asking = result("c1", "how many nights?")
    first = model_span([("c1", "book", {"city": "Oslo"})], 3, at=0)
    second = model_span([("c2", "book", later)], 4, at=50, input_messages=[asking])
    run = run_with(first, second, model_span(number=9, at=100, input_messages=[asking, result("c2", "done")]))
    assert doubts(run) == (["uncertain_execution"] if later == FITTING else [])


MISSING = "missing a required argument: 'nights'"


@pytest.mark.parametrize(
    ("name", "arguments", "text", "expected"),
    [
        ("book", {"city": "Oslo"}, MISSING, ([], ["book"], [])),
        ("fly", FITTING, "KeyError: 'fly'", ([], ["fly"], [])),  # a loop that looks tools up by name
        ("book", FITTING, MISSING, (["book"], [], ["uncertain_execution"])),
        ("book", {"city": "Oslo"}, "booked", (["book"], [], ["uncertain_execution"])),
    ],
)
def test_words_that_may_be_a_refusal_are_one_where_the_tools_do_not_take_the_call(
    name: str, arguments: Any, text: str, expected: Any
) -> None:
    told = model_span(number=9, at=50, input_messages=[result("c1", text)])
    assert read(run_with(asked(name, arguments), told)) == expected


def test_nor_did_a_call_run_whose_span_failed_with_such_words() -> None:
    told = model_span(number=9, at=50, input_messages=[result("c1", MISSING)])
    assert read(run_with(asked("book", {"city": "Oslo"}), failed("book", {"city": "Oslo"}), told)) == ([], ["book"], [])


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("fly", {}, (["pay"], ["fly"], [])),
        ("book", {"city": "Oslo"}, (["pay"], ["book"], [])),
        ("book", FITTING, (["book", "pay"], [], ["uncertain_execution"])),
    ],
)
def test_a_call_without_a_span_that_failed_is_refused_where_another_tool_has_one(
    name: str, arguments: Any, expected: Any
) -> None:
    pay = tool_span("pay", {}, 7, at=20, call_id="c2", status=1)
    told = model_span(number=9, at=50, input_messages=[result("c1", "Error: no")])
    assert read(run_with(asked(name, arguments), pay, told)) == expected


@pytest.mark.parametrize(
    ("definitions", "expected"), [((BOOK,), []), ((), ["uncertain_execution", "unobserved_results"])]
)
def test_a_provider_does_not_run_what_the_client_offered(definitions: Any, expected: list[str]) -> None:
    # Pydantic AI ends a run with a call of its output tool; an answer of OpenAI's Responses API has "stopped" all the same.
    attributes = {
        "gen_ai.tool.definitions": json.dumps(definitions),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    last = model_span([("c1", "book", FITTING)], 9, at=50, attributes=attributes)
    assert read(run_with(tool_span("pay", {}, 7, at=20, call_id="c2"), last)) == (["pay"], ["book"], expected)


def test_an_event_may_hold_the_tools_and_not_the_span() -> None:
    """openlit for Cohere, where no result is recorded: what was offered is all that tells of a call that was refused."""
    call = {"type": "tool_call", "id": "c1", "name": "drop", "arguments": {}}
    details = {
        "gen_ai.output.messages": [{"role": "assistant", "parts": [call]}],
        "gen_ai.tool.definitions": [{"type": "function", "function": {"name": "book", "parameters": BOOKING}}],
    }
    run = run_of(
        agent_span(),
        model_span([("c1", "drop", {})], 2, at=1),
        log("gen_ai.client.inference.operation.details", 2, attributes=details, at=2),
        model_span(number=3, at=20),
    )
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]
