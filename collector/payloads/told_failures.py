"""What frameworks say of a tool that failed, in words of their own, where its result would be: the span may say nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.payloads.refusals import Refusal, find_refusal
from collector.payloads.tool_results import TAIL, ToolResult, tool_result
from collector.payloads.values import MAX_TEXT, parse_any

_IN_PLACE: Final = re.compile(
    r"(?:\[?\{\"type\": ?\"text\", ?\"text\": ?\"|\")?"  # MCP's parts of content; MLflow quotes texts
    r"(?:An error occurred when calling tool `"  # Qwen-Agent
    # OpenAI Agents: all that Splunk's spans of it (util-genai 0.1) have of a failure
    r"|An error occurred while running the tool\. Please try again\."
    r"|Tool '[^'\n]{1,128}' timed out after [\d.e+-]+(?: seconds|ms)\.\"?\Z"  # OpenAI Agents, in Python and JavaScript
    r"|Sub-task '[^'\n]{1,128}' failed: "  # AG2, of an agent that is a tool
    r"|Error executing tool \w)"  # MCP's Python SDK, whose flag for an error few record
)
"""How a framework's own words begin that it gives the model in place of a result, where a tool failed."""
_MAX_WRAPPERS: Final = 4
"""How many objects around LangChain's message of a result are opened."""
_MESSAGE: Final = "content="
_FAILED_MESSAGE: Final = re.compile(r" tool_call_id='[^'\s]{1,256}' status='error'$")
"""How the repr of LangChain's message of a result begins, and how it ends if the tool failed."""
_OF_CREWAI: Final = re.compile(
    r"\s*(?:I encountered an error while trying to use the tool\.|Error executing tool\."
    r"|I tried reusing the same input, I must stop using this action input\b|I encountered an error: Action '"
    r"|Error: the Action Input is not a valid key, value dictionary\.|Tool not found\s*\Z)"
)
"""How the words begin that CrewAI has in place of a result: the tool failed, or was not called."""
_NO_TOOL: Final = "Tool not found"
"""All that CrewAI (1.15) says of a call of a tool that the agent does not have, where calls are functions."""
_TOLD_BY_TOOL: Final = '{"message": '
_TOOL_FAILURE: Final = frozenset({"message", "reason", "code", "retryable", "details"})
"""What CrewAI's `ToolFailure` (1.15) has, which a tool returns that failed."""


def failure_of_crewai(result: object) -> ToolResult | None:
    """Returns what CrewAI says of a call that failed or was not made; None for what a tool returned."""
    if type(result) is not str:
        return None
    if _OF_CREWAI.match(result) is None:
        return ToolResult(None, failed=True) if _is_tool_failure(result) else None
    words = result.strip()
    return ToolResult(None, True, Refusal() if words == _NO_TOOL else find_refusal(words))


def _is_tool_failure(result: str) -> bool:
    if not result.startswith(_TOLD_BY_TOOL) or len(result) > MAX_TEXT:
        return False
    value = parse_any(result)
    return isinstance(value, Mapping) and value.keys() == _TOOL_FAILURE


def is_in_place_of_result(result: object) -> bool:
    """Whether a result is what a framework says of a tool that failed, in words that no tool has: its span may say nothing."""
    return type(result) is str and _IN_PLACE.match(result) is not None


def failure_in_message(result: object) -> ToolResult | None:
    """Returns what LangChain's message of a result says of a call that failed; None if it is none, or tells of no failure.

    A tool that answers for what it raises (``handle_tool_error``, the default of langchain-mcp-adapters 0.3) has returned:
    its span ends well, and the words are its own. Only the message's status tells.
    """
    if type(result) is str and "error" not in result:
        return None
    value = parse_any(result)
    value = parse_any(value) if type(value) is str else value
    if type(value) is str:
        is_failure = value.startswith(_MESSAGE) and _FAILED_MESSAGE.search(value, max(0, len(value) - TAIL)) is not None
        return ToolResult(None, True, find_refusal(value[len(_MESSAGE) + 1 :])) if is_failure else None
    for _ in range(_MAX_WRAPPERS):
        if not isinstance(value, Mapping):
            break
        if value.get("status") == "error" and "tool_call_id" in value and "content" in value:
            return tool_result(None, value)
        # In LangSmith's and OpenLLMetry's records, OpenInference's form, and LangChain's own.
        value = next((value[key] for key in ("output", "data", "kwargs") if isinstance(value.get(key), Mapping)), None)
    return None


def is_flagged(result: object) -> bool:
    """Whether a result is an object that says it is an error: a text that begins like one may be the answer of a tool."""
    return flagged_failure(result) is not None


def flagged_failure(result: object) -> ToolResult | None:
    """Returns what a result says of its call, where it is an object that says it is an error; None if it is none."""
    if type(result) is str and "rror" not in result:
        return None
    if (told := failure_in_message(result)) is not None:
        return told
    value = parse_any(result)
    value = parse_any(value) if type(value) is str else value
    value = _inside_message(value)
    if not isinstance(value, Mapping):
        return None
    has_failed = value.get("is_error") is True or value.get("isError") is True or bool(value.get("error"))
    return ToolResult(None, failed=True) if has_failed else None


def _inside_message(value: object) -> object:
    """Returns what a tool returned where ``value`` is the message that frameworks make of it; ``value`` if it is none."""
    if not isinstance(value, Mapping):
        return value
    # Gemini's, with the call's id and name; LangChain's, in its two forms.
    inner = next((value[key] for key in ("response", "data", "kwargs") if isinstance(value.get(key), Mapping)), value)
    content = inner.get("content")
    is_message = (
        type(content) is str and content[:1] == "{" and ("tool_call_id" in inner or value.get("type") == "tool")
    )
    return parse_any(content) if is_message else inner
