"""Codex: spans of functions, and a log event with the arguments."""

from __future__ import annotations

from tests.builders import called, log, run_of, span

TURN = span("session_task.turn", 1, attributes={"codex.turn.reasoning_effort": "low"}, scope="codex_exec", lasting=100)
STEP = span("handle_responses", 2, 1, 5, attributes={"tool_name": "shell"}, scope="codex_exec")
CALL = {"tool_name": "shell", "call_id": "c1", "codex.tool.phase": "dispatch", "conversation.id": "c"}
TOOL = span("shell", 3, 2, 6, attributes=CALL, scope="codex_exec")
DISPATCH = span("dispatch_tool_call_with_state", 4, 3, 7, scope="codex_exec")
SCORING = span("guardian_scoring", 5, 4, 7, attributes={"tool_name": "shell", "call_id": "c1"}, scope="codex_exec")
RESULT = {
    "event.name": "codex.tool_result",
    "tool_name": "shell",
    "call_id": "c1",
    "arguments": '{"cmd": "ls"}',
    "success": "false",
}


def test_a_call_and_the_event_with_its_arguments() -> None:
    run = run_of(TURN, STEP, TOOL, DISPATCH, SCORING, log("", 4, at=9, attributes=RESULT))
    (call,) = run.trajectory.calls
    assert (run.agent, call.name, call.id, call.arguments, call.status) == (
        "codex",
        "shell",
        "c1",
        {"cmd": "ls"},
        "error",
    )


def test_without_the_event_the_arguments_are_unknown() -> None:
    run = run_of(TURN, STEP, TOOL, DISPATCH, SCORING)
    assert (called(run), run.trajectory.calls[0].arguments) == (["shell"], None)
