"""OpenCode (1.18): its own spans of a run and of each call, and those of Vercel's AI SDK, which it gives its own tracer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

SESSION = "ses_dd9c6708dffeFp3Kba9S8dI5YU"
TOOLS = [
    json.dumps({"type": "function", "name": name, "inputSchema": {"type": "object"}})
    for name in ("bash", "edit", "invalid", "shop_pay", "task")
]
REJECTED = "The user rejected permission to use this specific tool call."
INVALID = 'The bash tool was called with invalid arguments: SchemaError(Missing key\n  at ["command"]).'


def own(name: str, number: int, parent: int, at: float, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope="opencode", **{"status": 1, **more})


def agent(number: int = 1, parent: int = 0, at: float = 0, lasting: float = 300) -> Span:
    return own("SessionPrompt.run", number, parent, at, lasting)


def thrown(error: tuple[str, str]) -> dict[str, Any]:
    kind, message = error
    raised = ("exception", {"exception.type": kind, "exception.message": message})
    return {"status": 2, "message": message, "events": [raised]}


def ran(
    name: str, number: int, at: float, error: tuple[str, str] | None = None, *, call: int = 0, parent: int = 1
) -> Span:
    attributes = {"tool.name": name, "tool.call_id": f"call_{call or number}", "session.id": SESSION}
    return own("Tool.execute", number, parent, at, attributes=attributes, **(thrown(error) if error else {}))


def of_sdk(operation: str, number: int, parent: int, at: float, lasting: float, more: Any, **rest: Any) -> Span:
    attributes = {
        "operation.name": f"{operation} session.llm",
        "ai.operationId": operation,
        "ai.telemetry.functionId": "session.llm",
        "ai.telemetry.metadata.sessionId": SESSION,
        "session.id": SESSION,
        **more,
    }
    return own(operation, number, parent, at, lasting, attributes=attributes, **{"status": 0, **rest})


def step(number: int, at: float, *calls: tuple[int, str, Any], parent: int = 1) -> list[Span]:
    """One request to the model: the SDK's run, and the request inside."""
    wanted = [
        {"type": "tool-call", "toolCallId": f"call_{call}", "toolName": name, "input": arguments}
        for call, name, arguments in calls
    ]
    answer: dict[str, Any] = {"ai.response.finishReason": "tool-calls" if calls else "stop"}
    if calls:
        answer["ai.response.toolCalls"] = json.dumps(wanted)
    told = '[{"role":"user","content":"SC1 please"}]'
    return [
        of_sdk("ai.streamText", number, parent, at, 40, {"ai.prompt": told, **answer}),
        of_sdk(
            "ai.streamText.doStream", number + 1, number, at + 1, 38,
            {"ai.prompt.messages": told, "ai.prompt.tools": TOOLS, **answer},
        ),
    ]  # fmt: skip


def by_sdk(
    name: str, number: int, parent: int, at: float, arguments: Any, error: tuple[str, str] | None = None, call: int = 0
) -> Span:
    more = {
        "ai.toolCall.name": name,
        "ai.toolCall.id": f"call_{call or number}",
        "ai.toolCall.args": json.dumps(arguments),
    }
    if error is None:
        more["ai.toolCall.result"] = '{"title":"","metadata":{},"output":"ok"}'
    return of_sdk("ai.toolCall", number, parent, at, 12, more, **(thrown(error) if error else {}))


def test_the_steps_of_a_run_are_one_run() -> None:
    run = run_of(
        agent(),
        *step(10, 10, (12, "bash", {"command": "ls"}), (13, "shop_pay", {"n": 1})),
        by_sdk("bash", 12, 10, 20, {"command": "ls"}), ran("bash", 14, 21, call=12),
        by_sdk("shop_pay", 13, 10, 20, {"n": 1}), ran("shop_pay", 15, 21, call=13),
        *step(20, 100, (22, "edit", {"filePath": "a.txt"})),
        by_sdk("edit", 22, 20, 110, {"filePath": "a.txt"}), ran("edit", 24, 111, call=22),
        *step(30, 200),
    )  # fmt: skip
    assert (run.agent, run.conversation_id, run.dialect) == ("opencode", SESSION, "opencode")
    assert [(call.id, call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("call_12", "bash", {"command": "ls"}, "ok"),
        ("call_13", "shop_pay", {"n": 1}, "ok"),
        ("call_22", "edit", {"filePath": "a.txt"}, "ok"),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (("PermissionRejectedError", REJECTED), ["(bash)"]),
        (("PermissionDeniedError", "The user has specified a rule which prevents you"), ["(bash)"]),
        (("PermissionCorrectedError", "The user rejected permission with the following feedback: no"), ["(bash)"]),
        (("ToolInvalidArgumentsError", INVALID), ["(bash)"]),
        (("-32602", "MCP error -32602: Invalid arguments for tool pay"), ["(bash)"]),
        (("Error", "File not found: none.txt"), ["bash"]),
    ],
)
@pytest.mark.parametrize("is_sdk_traced", [True, False])
def test_which_calls_ran_is_told_by_what_was_thrown(
    error: tuple[str, str], expected: list[str], is_sdk_traced: bool
) -> None:
    sdk = [*step(10, 10, (12, "bash", {"c": 1})), by_sdk("bash", 12, 10, 20, {"c": 1}, error), *step(20, 100)]
    run = run_of(agent(), ran("bash", 14, 21, error, call=12), *(sdk if is_sdk_traced else ()))
    assert (called(run), [call.status for call in run.trajectory.calls], doubts(run)) == (expected, ["error"], [])


def test_words_of_a_denial_that_another_threw_are_in_doubt() -> None:
    run = run_of(agent(), ran("bash", 14, 21, ("Error", REJECTED)))
    assert (called(run), doubts(run)) == (["bash"], ["uncertain_execution"])


def test_a_call_that_a_plugin_stopped_has_no_span_of_its_own() -> None:
    error = ("Error", "policy says no")
    run = run_of(
        agent(),
        *step(10, 10, (12, "bash", {"c": 1})), by_sdk("bash", 12, 10, 20, {"c": 1}, error), *step(20, 100),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["bash"], ["uncertain_execution"])


def test_a_call_of_a_tool_that_it_does_not_have() -> None:
    arguments = {"tool": "nosuch", "error": "Model tried to call unavailable tool 'nosuch'. Available tools: bash."}
    run = run_of(
        agent(),
        *step(10, 10, (12, "invalid", arguments)),
        by_sdk("invalid", 12, 10, 20, arguments), ran("invalid", 14, 21, call=12),
        *step(20, 100),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["(nosuch)"], [])


def test_an_agent_inside_a_call_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        agent(),
        *step(10, 10, (12, "task", {"subagent_type": "general"})),
        by_sdk("task", 12, 10, 20, {"subagent_type": "general"}),
        own("Tool.execute", 14, 1, 21, 90, attributes={"tool.name": "task", "tool.call_id": "call_12"}),
        agent(40, 14, 25, 80),
        *step(41, 30, (43, "bash", {}), parent=40),
        by_sdk("bash", 43, 41, 35, {}), ran("bash", 44, 36, call=43, parent=40),
        *step(50, 75, parent=40),
        *step(20, 200),
    )  # fmt: skip
    assert [(called(run), doubts(run)) for run in (outer, inner)] == [(["task"], []), (["bash"], [])]


def test_spans_of_what_it_does_besides_are_not_needed() -> None:
    assert dialects.read_span(own("Session.updatePart", 5, 1, 10, attributes={"tool.name": "x"})) is IGNORED
