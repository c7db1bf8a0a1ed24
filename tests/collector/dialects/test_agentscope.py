"""AgentScope: the conventions, and a state in the result."""

from __future__ import annotations

import pytest

from tests.builders import read_tool, tool_span


@pytest.mark.parametrize(("state", "status"), [("ERROR: 'error'", "error"), ("SUCCESS: 'success'", "ok")])
def test_the_state_in_a_tools_result(state: str, status: str) -> None:
    result = f"ToolResponse(content=[TextBlock(type='text', text='declined')], state=<ToolResultState.{state}>)"
    tool = tool_span(
        "pay", {"order": 7}, call_id="c1", scope="agentscope", status=1, attributes={"gen_ai.tool.call.result": result}
    )
    assert read_tool(tool) == ("pay", "c1", {"order": 7}, status)
