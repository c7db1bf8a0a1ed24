"""What kinds and names of unknown tracers' spans say, by their words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.attribute_shapes import MAX_KEY
from collector.payloads.span_names import (
    agent_in_span_name,
    filled_in,
    is_execution,
    is_named_after,
    is_step_before,
    role_of_kind,
    tool_in_span_name,
)
from tests.operations import within


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("TOOL_CALL", "tool"),
        ("toolCall", "tool"),
        ("acme.execute_tool", "tool"),
        ({"type": "tool"}, "tool"),
        ("Agent", "agent"),
        ("invoke_agent", "agent"),
        ("LLM", "model"),
        ("chat.completions", "model"),
        ("retriever", None),
        ("tooling", None),
        ("", None),
        (None, None),
        (3, None),
        (["tool"], None),
        ({"kind": "tool"}, None),
        ("x" * MAX_KEY + "_tool_call", None),
    ],
)
def test_kinds(kind: object, role: str | None) -> None:
    assert role_of_kind(kind) == role


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("execute_tool pay", (True, "pay")),
        ("call_tool: pay", (True, "pay")),
        ("Running tool `pay`", (True, "pay")),
        ("agent.run_tool pay", (True, "pay")),
        ("tool.execution:pay", (True, "pay")),
        ("acme.tool/pay", (True, "pay")),
        ("mcp.tools/call pay", (True, "pay")),
        ("pay.tool", (True, "pay")),
        ("tool [pay]", (True, "pay")),
        ("tools.pay", (True, "pay")),
        ("execute_tool", (True, None)),
        ("tool: call", (False, None)),
        ("tools/call", (True, None)),
        ("tools/list", (False, None)),
        ("chat", (False, None)),
        ("execute_tool pay now", (False, None)),
        ("", (False, None)),
        ("execute_tool " + "x" * 2 * MAX_KEY, (False, None)),
    ],
)
def test_span_names(name: str, expected: tuple[bool, str | None]) -> None:
    assert tool_in_span_name(name) == expected


@given(st.text("toolcalexu_./: []'x-", max_size=2 * MAX_KEY))
def test_any_name_is_read_and_a_tool_is_part_of_it(name: str) -> None:
    is_call, tool = tool_in_span_name(name)
    assert tool is None or (is_call and tool in name)


@pytest.mark.parametrize("part", ["a.", "a/", "tool.", "tool call ", "agent.", "run agent ", "_", "-"])
def test_a_name_that_nearly_matches_many_times_takes_no_time(part: str) -> None:
    with within(1.0):
        for times in range(1, 2 * MAX_KEY // len(part)):
            tool_in_span_name(part * times + "\n")
            agent_in_span_name(part * times + "\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("invoke_agent planner", (True, "planner")),
        ("Subagent: the planner", (True, "the planner")),
        ("acme.agent.run", (True, None)),
        ("agent: step", (False, None)),
        ("agent.stop", (False, None)),
        ("invoke_agent " + "x" * 2 * MAX_KEY, (False, None)),
    ],
)
def test_names_of_agents_spans(name: str, expected: tuple[bool, str | None]) -> None:
    assert agent_in_span_name(name) == expected


@pytest.mark.parametrize(
    ("name", "is_named"),
    [
        ("search", True),
        ("tool-search", True),
        ("research", False),  # another word that ends alike
        ("web-search", False),  # no word says that it is a tool's
        ("tool-approval-search", False),
    ],
)
def test_spans_named_after_their_tool(name: str, is_named: bool) -> None:
    assert is_named_after(name, "search") is is_named


def test_a_step_before_a_call_is_no_execution() -> None:
    assert is_execution("action.execute")
    assert not is_execution("approve.execute")
    assert is_step_before("validate_tool")
    assert is_step_before("check_in")
    assert not is_step_before("check_in", tool="check_in")  # the words of the tool's name do not count


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tool {name}", "tool pay"),
        ("tool {name!r} for {user.id}", "tool pay for ada"),
        ("tool {other}", "tool {other}"),
        ("tool {n}", "tool {n}"),  # numbers name no tool
        ("tool {again}", "tool {again}"),
        ("tool {", "tool {"),
        ("tool", "tool"),
        ("{name}" * MAX_KEY, "{name}" * MAX_KEY),
    ],
)
def test_a_template_is_filled_with_attributes(name: str, expected: str) -> None:
    assert filled_in(name, {"name": "pay", "user.id": "ada", "n": 7, "again": "{name}"}) == expected
