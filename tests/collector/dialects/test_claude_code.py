"""Claude Code's own traces."""

from __future__ import annotations

from typing import Any

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

SCOPE = "com.anthropic.claude_code.tracing"


def claude(kind: str, number: int, parent: int = 1, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    attributes = {"span.type": kind, "session.id": "s", **more.pop("attributes", {})}
    return span(f"claude_code.{kind}", number, parent, at, lasting, attributes=attributes, scope=SCOPE, **more)


def bash(number: int, at: float, call_id: str, text: str) -> Span:
    attributes = {"tool_name": "Bash", "tool_use_id": call_id, "tool_input": text}
    return claude("tool", number, at=at, lasting=30, attributes=attributes)


PROMPT = claude("interaction", 1, 0, lasting=100, attributes={"user_prompt": "list the files"})


def test_a_call_with_its_input_and_its_failure() -> None:
    execution = claude("tool.execution", 3, 2, 12, 5, status=2, message="no", attributes={"success": False})
    run = run_of(PROMPT, bash(2, 10, "toolu_1", '[TOOL INPUT: Bash]\n{"command":"ls"}'), execution)
    (call,) = run.trajectory.calls
    assert (run.agent, run.user_input, run.conversation_id) == ("claude-code", "list the files", "s")
    assert (call.name, call.id, call.arguments, call.status) == ("Bash", "toolu_1", {"command": "ls"}, "error")


def test_a_success_is_said_by_an_attribute_alone() -> None:
    execution = claude("tool.execution", 3, 2, 12, 5, attributes={"success": True})
    run = run_of(PROMPT, bash(2, 10, "toolu_1", '[TOOL INPUT: Bash]\n{"command":"ls"}'), execution)
    assert (run.trajectory.calls[0].status, doubts(run)) == ("ok", [])


def test_a_call_whose_execution_left_no_span_may_have_failed() -> None:
    run = run_of(PROMPT, bash(2, 10, "toolu_1", '[TOOL INPUT: Bash]\n{"command":"ls"}'))
    assert (called(run), doubts(run)) == (["Bash"], ["unobserved_results"])


def test_a_call_that_the_user_rejects_did_not_run() -> None:
    rejected = claude("tool.blocked_on_user", 3, 2, 12, 5, attributes={"decision": "reject"})
    allowed = claude("tool.blocked_on_user", 5, 4, 42, 5, attributes={"decision": "accept"})
    run = run_of(PROMPT, bash(2, 10, "toolu_1", "{}"), rejected, bash(4, 40, "toolu_2", "{}"), allowed)
    assert [(call.id, call.executed) for call in run.trajectory.calls] == [("toolu_1", False), ("toolu_2", True)]


def test_a_call_that_was_interrupted_may_have_run() -> None:
    words = "The tool call was interrupted before a result was received. It may or may not have completed on the server"
    execution = claude("tool.execution", 3, 2, 12, 5, status=2, message=words, attributes={"success": False})
    run = run_of(PROMPT, bash(2, 10, "toolu_1", "{}"), execution)
    assert (called(run), doubts(run)) == (["Bash"], ["uncertain_execution"])


def test_a_step_is_no_call() -> None:
    assert called(run_of(PROMPT, claude("hook", 2))) == []
