"""Claude Code's own traces."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.span import LogRecord, Span
from tests.builders import called, doubts, log, run_of, runs_of, span, steps

SCOPE = "com.anthropic.claude_code.tracing"
EVENTS = "com.anthropic.claude_code.events"


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


def test_a_call_whose_execution_left_no_span_may_have_failed_or_been_rejected() -> None:
    """A rejection is a span inside, too, and either may be lost."""
    run = run_of(PROMPT, bash(2, 10, "toolu_1", '[TOOL INPUT: Bash]\n{"command":"ls"}'))
    assert (called(run), doubts(run)) == (["Bash"], ["uncertain_execution", "unobserved_results"])


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


def request(number: int, parent: int, at: float, finish: str, agent: str | None = None, **attributes: Any) -> Span:
    told = {"gen_ai.response.finish_reasons": [finish], "stop_reason": finish, **attributes}
    if agent is not None:
        told["agent_id"] = agent
    return claude("llm_request", number, parent, at, 10, attributes=told)


def tool(name: str, number: int, parent: int, at: float, lasting: float = 20, **attributes: Any) -> list[Span]:
    """A call, and its execution, whose number is the next."""
    told = {"tool_name": name, "tool_use_id": f"toolu_{number}", **attributes}
    ended = {"tool_use_id": f"toolu_{number}", "success": True}
    return [
        claude("tool", number, parent, at, lasting, attributes=told),
        claude("tool.execution", number + 1, number, at + 1, lasting - 2, attributes=ended),
    ]


def with_agents(of_first: dict[str, Any], of_inner: dict[str, Any], **of_call: Any) -> list[Span]:
    """A run whose agent has another inside, which does two things one after the other and has a third inside."""
    return [
        claude("interaction", 1, 0, lasting=400),
        request(2, 1, 0, "tool_use"),
        *tool("Agent", 3, 1, 12, 300, **of_call),
        request(5, 4, 20, "tool_use", "a1", **of_first),
        *tool("Bash", 6, 4, 35, agent_id="a1"),
        request(8, 4, 60, "tool_use", "a1", **of_first),
        *tool("Agent", 9, 4, 75, 100, agent_id="a1", **of_call),
        request(11, 10, 80, "tool_use", "a2", parent_agent_id="a1", **of_inner),
        *tool("Read", 12, 10, 95, agent_id="a2", parent_agent_id="a1"),
        request(14, 10, 120, "end_turn", "a2", parent_agent_id="a1", **of_inner),
        request(15, 4, 200, "end_turn", "a1", **of_first),
        request(16, 1, 350, "end_turn"),
    ]


@pytest.mark.parametrize(
    ("spans", "names"),
    [
        (with_agents({}, {}), ["subagent", "inner subagent"]),
        (
            with_agents({"query_source": "agent:builtin:general-purpose"}, {"query_source": "agent:custom:billing"}),
            ["general-purpose", "billing"],
        ),
        (with_agents({}, {}, subagent_type="billing"), ["billing", "billing"]),
    ],
)
def test_an_agent_inside_a_call_is_a_run_of_its_own(spans: list[Span], names: list[str]) -> None:
    outer, first, inner = runs_of(*spans)
    assert [run.agent for run in (outer, first, inner)] == ["claude-code", *names]
    assert [(called(run), steps(run), doubts(run)) for run in (outer, first, inner)] == [
        (["Agent"], [0], []),
        (["Bash", "Agent"], [0, 1], []),
        (["Read"], [0], []),
    ]


def result(tool_name: str, call_id: str, at: float, parent: int = 1, **attributes: Any) -> LogRecord:
    told = {
        "event.name": "tool_result", "tool_name": tool_name, "tool_use_id": call_id, "success": "true",
        "duration_ms": "18", **attributes,
    }  # fmt: skip
    return log("", parent, "claude_code.tool_result", told, at, scope=EVENTS)


def test_the_arguments_of_a_call_are_in_a_log_record() -> None:
    of_mcp = '{"mcp_server_name":"shop","mcp_tool_name":"pay"}'
    run = run_of(
        claude("interaction", 1, 0, lasting=100),
        request(2, 1, 0, "tool_use"), *tool("Bash", 3, 1, 12), result("Bash", "toolu_3", 32, tool_input='{"command":"ls"}'),
        request(5, 1, 40, "tool_use"), *tool("mcp__shop__pay", 6, 1, 52),
        result("mcp_tool", "toolu_6", 72, tool_input='{"n":1}', tool_parameters=of_mcp), request(8, 1, 80, "end_turn"),
    )  # fmt: skip
    assert [(call.name, call.arguments, call.span_id) for call in run.trajectory.calls] == [
        ("Bash", {"command": "ls"}, "0000000000000003"),
        ("mcp__shop__pay", {"n": 1}, "0000000000000006"),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"command":"echo x…[1505 chars]"}', ["unreadable_arguments"]),
        ('{"todos":[{"content":"<nested>"},"…[21 items]"]}', ["unreadable_arguments"]),
        ('{"a":1,"…":"23 keys"}', ["unreadable_arguments"]),
        ('{"command":"echo … [3 chars]"}', []),
    ],
)
def test_arguments_of_which_a_log_record_holds_a_part_are_not_read(given: str, expected: list[str]) -> None:
    """2.1.332: of a text beyond 512 characters 128 are left."""
    run = run_of(
        claude("interaction", 1, 0, lasting=100),
        request(2, 1, 0, "tool_use"),
        *tool("Bash", 3, 1, 12),
        result("Bash", "toolu_3", 32, tool_input=given),
        request(5, 1, 40, "end_turn"),
    )
    assert (called(run), run.trajectory.calls[0].arguments is None, doubts(run)) == (["Bash"], bool(expected), expected)


@pytest.mark.parametrize(
    "record",
    [
        result("Bash", "toolu_3", 32),  # details are not logged
        result("mcp_tool", "toolu_3", 32, tool_input="{}"),
        result("mcp_tool", "toolu_3", 32, tool_input="{}", tool_parameters="[]"),
        log("", 1, "claude_code.tool_decision", {"tool_name": "Bash"}, scope=EVENTS),
    ],
)
def test_other_log_records_tell_nothing(record: LogRecord) -> None:
    assert dialects.read_log(record) is None


@pytest.mark.parametrize("duration", [None, "-1", "soon", "9" * 30])
def test_a_log_record_without_a_duration_is_of_its_moment(duration: str | None) -> None:
    event = dialects.read_log(result("Bash", "toolu_3", 32, tool_input="{}", duration_ms=duration))
    assert event is not None
    assert event.start_ns == event.end_ns


def test_an_agent_goes_on_when_the_call_has_ended_that_started_it() -> None:
    outer, inner = runs_of(
        claude("interaction", 1, 0, lasting=400),
        request(2, 1, 0, "tool_use"),
        *tool("Agent", 3, 1, 12, 10, subagent_type="general-purpose"),
        request(5, 1, 30, "tool_use"),
        request(6, 4, 32, "tool_use", "a1"),
        *tool("Bash", 7, 1, 45, 100),
        *tool("Read", 9, 4, 50, agent_id="a1"),
        request(11, 4, 80, "tool_use", "a1"),
        *tool("Write", 12, 4, 95, agent_id="a1"),
        request(14, 4, 120, "end_turn", "a1"),
        request(15, 1, 200, "end_turn"),
    )
    assert [(run.agent, called(run), steps(run), doubts(run)) for run in (outer, inner)] == [
        ("claude-code", ["Agent", "Bash"], [0, 1], []),
        ("general-purpose", ["Read", "Write"], [0, 1], []),
    ]


def test_the_form_of_an_output_is_no_tool_that_ran() -> None:
    """Claude Code 2.1.332, of which the SDK asks for an output of a form."""
    attributes = {"tool_name": "StructuredOutput", "gen_ai.tool.call.id": "toolu_1"}
    execution = claude("tool.execution", 3, 2, 12, 5, attributes={"success": True})
    run = run_of(PROMPT, claude("tool", 2, at=10, lasting=30, attributes=attributes), execution)
    assert (called(run), doubts(run)) == (["(StructuredOutput)"], [])
