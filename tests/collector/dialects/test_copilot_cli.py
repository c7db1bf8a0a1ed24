"""GitHub Copilot CLI (1.0): the conventions, and what it leaves out where it may not record content."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

SCOPE = "github.copilot"
SHOP = "8d9001d32c6a703d95921a77115050f33dd823d3f1730bd35215dcbecad6dc20"
PAY = "9350872d712a127c494d7dc35e46b0bc9e62e288239708e581dfc3a1400154a4"
HASH = "github.copilot.tool.parameters.mcp_server_name_hash"


def agent() -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "github"}
    return span("invoke_agent", 1, lasting=100, attributes=attributes, scope=SCOPE)


def request(number: int, at: float, finish: str = "tool_calls") -> Span:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": [finish]}
    return span("chat gpt-4o", number, 1, at, attributes=attributes, kind=3, scope=SCOPE)


def call(name: str, number: int, at: float, **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.tool.type": "function",
        **more.pop("attributes", {}),
    }
    return span(f"execute_tool {name}", number, 1, at, attributes=attributes, scope=SCOPE, **more)


def failed(name: str, number: int, at: float, words: str, code: str = "failure", **attributes: Any) -> Span:
    kind = "ToolError" if code == "failure" else code
    said = {"github.copilot.error_code": code, "exception.type": "ToolError", "exception.message": words}
    return call(
        name, number, at, status=2, message=words, attributes={"error.type": kind, **attributes},
        events=[("gen_ai.client.operation.exception", said)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ("Tool failed", "failure", (["view"], ["uncertain_execution"])),  # also where arguments do not fit
        ("Path does not exist", "failure", (["view"], [])),
        ("Tool 'view' does not exist.", "failure", (["(view)"], [])),
        ("Tool failed", "denied", (["(view)"], [])),
    ],
)
def test_without_content_a_failed_call_may_not_have_run(words: str, code: str, expected: Any) -> None:
    run = run_of(agent(), request(2, 0), failed("view", 3, 15, words, code), request(4, 30, "stop"))
    assert (called(run), doubts(run)) == expected


def test_without_content_the_tools_of_mcp_servers_have_no_names() -> None:
    pay = call(f"{SHOP}/{PAY}", 3, 15, attributes={HASH: SHOP})
    look = call("view", 5, 45)
    run = run_of(agent(), request(2, 0), pay, request(4, 30), look, request(6, 60, "stop"))
    assert (called(run), doubts(run)) == (["view"], ["unrecorded_calls"])


def test_with_content_they_have_those_that_the_model_is_offered() -> None:
    pay = call("shop-pay", 3, 15, attributes={HASH: SHOP})
    run = run_of(agent(), request(2, 0), pay, request(4, 30, "stop"))
    assert (called(run), doubts(run)) == (["shop-pay"], [])
