"""What frameworks say of a tool that failed, in words of their own, where its result would be: the span may say nothing."""

from __future__ import annotations

import re
from typing import Final

from collector.payloads.refusals import find_refusal
from collector.payloads.tool_results import ToolResult

_IN_PLACE: Final = re.compile(
    r"(?:\[?\{\"type\": ?\"text\", ?\"text\": ?\")?"  # MCP's parts of content
    r"(?:An error occurred when calling tool `"  # Qwen-Agent
    # OpenAI Agents: all that Splunk's spans of it (util-genai 0.1) have of a failure
    r"|An error occurred while running the tool\. Please try again\."
    r"|Tool '[^'\n]{1,128}' timed out after [\d.e+-]+(?: seconds|ms)\.\Z"  # OpenAI Agents, in Python and JavaScript
    r"|Error executing tool \w)"  # MCP's Python SDK, whose flag for an error few record
)
"""How a framework's own words begin that it gives the model in place of a result, where a tool failed."""
_OF_CREWAI: Final = re.compile(
    r"\s*(?:I encountered an error while trying to use the tool\.|Error executing tool\."
    r"|I tried reusing the same input, I must stop using this action input\b|I encountered an error: Action '"
    r"|Error: the Action Input is not a valid key, value dictionary\.)"
)
"""How the words begin that CrewAI has in place of a result: the tool failed, or was not called."""


def failure_of_crewai(result: object) -> ToolResult | None:
    """Returns what CrewAI says of a call that failed or was not made; None for what a tool returned."""
    if type(result) is not str or _OF_CREWAI.match(result) is None:
        return None
    return ToolResult(None, True, find_refusal(result.strip()))


def is_in_place_of_result(result: object) -> bool:
    """Whether a result is what a framework says of a tool that failed, in words that no tool has: its span may say nothing."""
    return type(result) is str and _IN_PLACE.match(result) is not None
