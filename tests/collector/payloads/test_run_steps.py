"""The calls of a run that a service made, from the list of its steps."""

from __future__ import annotations

import json
from typing import Any

from collector.payloads.run_steps import EVENT, MAX_STEPS, run_steps
from tests.builders import called, doubts, run_of, span

CONTENT = "gen_ai.event.content"


def step(*calls: dict[str, Any], start: Any = 0, status: str = "completed") -> tuple[str, dict[str, Any]]:
    body = json.dumps({"tool_calls": calls})
    return EVENT, {CONTENT: body, "gen_ai.run_step.status": status, "gen_ai.run_step.start.timestamp": start}


def function(call_id: str, name: str | None, **arguments: Any) -> dict[str, Any]:
    details = {} if name is None else {"function": {"name": name, "arguments": arguments}}
    return {"id": call_id, "type": "function", **details}


def names(*events: tuple[str, dict[str, Any]]) -> tuple[list[str], bool]:
    found = run_steps(events, CONTENT)
    calls = [call for message in found.messages for call in message.get("tool_calls", ())]
    return [call["function"]["name"] for call in calls], found.is_whole


def test_the_service_lists_the_newest_step_first() -> None:
    look, pay, mail = function("c1", "look"), function("c2", "pay"), function("c3", "mail")
    assert names(step(mail, start=9), step(pay, start=5), step(look, start=5)) == (["look", "pay", "mail"], True)
    assert names(step(look, start=5), step(pay, start=5), step(mail, start=9)) == (["look", "pay", "mail"], True)
    assert names(step(pay, start=5), step(look, start=5)) == (["look", "pay"], True)


def test_a_tool_of_the_service_is_called_as_its_type_is() -> None:
    assert names(step({"id": "c1", "type": "file_search", "file_search": {"results": []}})) == (["file_search"], True)
    assert names(step({"id": "c1", "type": "mcp", "mcp": {"name": "find"}})) == (["find"], True)


def test_a_step_that_names_no_tool_or_has_not_ended_leaves_the_list_in_part() -> None:
    assert names(step(function("c1", None))) == ([], False)
    assert names(step(function("c1", "pay"), status="in_progress")) == ([], False)
    assert names(step()) == ([], False)
    assert names((EVENT, {})) == ([], False)
    assert names((EVENT, {CONTENT: '{"tool_calls": [7, {"type": ["x"]}]}'})) == ([], False)
    assert names(("gen_ai.run_step.message_creation", {})) == ([], True)


def test_only_so_many_steps_are_read() -> None:
    found, is_whole = names(*[step(function("c1", "pay"))] * (MAX_STEPS + 1))
    assert (len(found), is_whole) == (MAX_STEPS, False)


def test_a_run_whose_steps_are_listed_twice_made_each_call_once() -> None:
    look, pay = step(function("c1", "look"), start=5), step(function("c2", "pay"), start=9)
    attributes = {"gen_ai.operation.name": "list_run_steps"}
    first = span("list_run_steps", 2, 1, at=20, attributes=attributes, events=[look])
    run = run_of(span("main", 1), first, span("list_run_steps", 3, 1, at=50, attributes=attributes, events=[pay, look]))
    assert (called(run), doubts(run)) == (["look", "pay"], [])


def listed(*events: tuple[str, dict[str, Any]]) -> Any:
    attributes = {"gen_ai.operation.name": "list_run_steps", "gen_ai.thread.id": "thread_1"}
    return run_of(span("main", 1), span("list_run_steps", 2, 1, at=50, attributes=attributes, events=events))


def test_the_calls_of_the_steps_are_those_of_the_run() -> None:
    failed = step(function("c2", "pay", order=7), start=9, status="failed")
    run = listed(failed, step(function("c1", "look"), start=5))
    assert (called(run), doubts(run), run.conversation_id) == (["look", "pay"], [], "thread_1")
    assert [call.status for call in run.trajectory.calls] == ["ok", "error"]
    assert run.trajectory.calls[1].arguments == {"order": 7}


def test_a_list_without_calls_is_of_a_run_without_calls() -> None:
    run = listed(("gen_ai.run_step.message_creation", {"gen_ai.run_step.status": "completed"}))
    assert (called(run), doubts(run)) == ([], [])


def test_content_that_was_not_captured_leaves_the_run_open() -> None:
    assert doubts(listed(step(function("c1", None)))) == ["unrecorded_calls"]
