"""The spans that record one call, merged into it."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Resource
from tests.builders import agent_span, called, run_of, span, tool_span


def statuses(*spans: Any) -> list[str]:
    return [call.status for call in run_of(*spans).trajectory.calls]


def test_a_span_with_a_refusal_never_ran() -> None:
    refused = tool_span("get", {"town": 5}, at=1, status=2, message="MCP error -32602: Input validation error: city")
    assert called(run_of(agent_span(), refused, tool_span("get", {"city": "Oslo"}, 4, at=20))) == ["(get)", "get"]


def test_the_last_attempt_inside_a_framework_span_decides() -> None:
    attempts = [
        tool_span("pay", number=4, parent=2, at=2, status=2),
        tool_span("pay", number=5, parent=2, at=5, status=1),
    ]
    assert statuses(agent_span(), tool_span("pay", {}, 2, at=1, lasting=30, status=1), *attempts)[0] == "ok"
    assert statuses(agent_span(), tool_span("pay", {}, 2, at=1, lasting=30, status=1), attempts[0])[0] == "error"
    assert statuses(agent_span(), tool_span("pay", {}, 2, at=1, lasting=30, status=2), attempts[1])[0] == "error"


def test_an_attempt_without_a_status_ends_those_that_failed_before_it() -> None:
    outer = tool_span("pay", {}, 2, at=1, lasting=40)
    failed, inside = tool_span("pay", {}, 3, 2, at=2, lasting=5, status=2), tool_span("pay", {}, 4, 3, at=3, status=2)
    again, beside = tool_span("pay", {}, 5, 2, at=12, lasting=5), tool_span("pay", {}, 5, 2, at=4, lasting=5)
    assert statuses(agent_span(), outer, failed, inside, again)[0] == "unset"
    assert statuses(agent_span(), outer, failed, inside)[0] == "error"
    assert statuses(agent_span(), outer, failed, beside)[0] == "error"


@pytest.mark.parametrize(
    ("status", "at", "expected"), [(0, 30, "unset"), (2, 30, "error"), (0, 15, "error")], ids=["last", "none", "beside"]
)
def test_attempts_may_have_a_span_of_their_own_around_each(status: int, at: float, expected: str) -> None:
    spans = [
        tool_span("pay", {}, 2, at=1, lasting=80),
        span("attempt 1", 3, 2, at=10, lasting=12),
        tool_span("pay", {}, 4, 3, at=11, lasting=10, status=2),
        span("attempt 2", 5, 2, at=at, lasting=20),
        tool_span("pay", {}, 6, 5, at=at + 1, lasting=10, status=status),
    ]
    assert statuses(agent_span(), *spans) == [expected]


@pytest.mark.parametrize("at", [20, -200])
def test_what_failed_in_another_process_failed_whatever_its_clock_says(at: float) -> None:
    failed = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "pay", "error.type": "tool_error"}
    server = Resource({"service.name": "tools", "host.name": "h2"})
    spans = [
        tool_span("pay", {}, 2, at=10, lasting=80),
        tool_span("pay", {}, 3, 2, at=12, lasting=70),
        span("POST", 4, 3, at=13, lasting=60),
        span("tools/call pay", 5, 4, at, 40, attributes=failed, status=2, resource=server),
    ]
    assert statuses(agent_span(), *spans) == ["error"]
