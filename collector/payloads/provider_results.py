"""What an answer of a model tells of the calls that its provider ran meanwhile: web searches, code, servers of MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.messages import is_answered_call
from collector.payloads.refusals import Refusal
from collector.payloads.tool_results import BY_PROVIDER, ToolResult, result_in, tool_result
from collector.payloads.values import name_of

_DONE: Final = ("completed", "failed")
_FAILED: Final = ("failed", "error")
_CALL: Final = "server_tool_call"
"""The conventions' part with a call, and in an object of this name with what OpenAI tells of it."""
_OUTCOMES: Final = ("failed", "deadline_exceeded")
"""How Gemini's words for the outcome of code end that failed."""
_ERROR_TYPE: Final = "_tool_result_error"
_MCP: Final = "mcptoolu_"
"""Begins Anthropic's ids of calls of MCP's servers. A flag alone tells that one failed, and the conventions have none."""
_IDS: Final = ("srvtoolu_", _MCP)
_WITHOUT_FLAG: Final = "mcp_server_tool_result"
"""The type in Microsoft's Agent Framework, which drops Anthropic's flag. In OpenAI's streams a failed call has no output."""
_NOT_RUN: Final[Mapping[str | None, Refusal]] = {
    "max_uses_exceeded": Refusal(),
    "too_many_requests": Refusal(is_sure=False),
    "invalid_tool_input": Refusal(is_sure=False),
    "query_too_long": Refusal(is_sure=False),
}
"""Anthropic's codes for an error of a call that did not run, or may not have."""


def provider_result(part: Mapping[Any, Any]) -> ToolResult | None:
    """Returns what a part of an answer tells of a call that the provider ran; None if it tells nothing.

    Only flags tell of a failure: words that read like one may be those of a page, and leave it open.
    """
    if is_answered_call(part):
        details = part.get(_CALL)
        if isinstance(details, Mapping):
            part = {**details, "id": part.get("id"), "type": part.get("type")}
        told = _told_with_call(part)
    else:
        told = result_in(part)
    if told is None:
        return None
    levels = _levels(part)
    if any(map(_has_failed, levels)):
        code = next((code for level in levels if (code := name_of(level.get("error_code")))), None)
        return told._replace(failed=True, refusal=_NOT_RUN.get(code, told.refusal), is_open=False)
    is_open = told.failed or _lacks_flag(part) or any(level.get("return_code") not in (0, None) for level in levels)
    return told._replace(failed=False, refusal=None, is_open=is_open)


def is_id_of_provider(call_id: str | None) -> bool:
    """Whether it is an id that Anthropic gives what it runs itself, which in the conventions' words nothing else marks."""
    return call_id is not None and call_id.startswith(_IDS)


def _lacks_flag(part: Mapping[Any, Any]) -> bool:
    if part.get("type") == _WITHOUT_FLAG:
        return "output" not in part or (name_of(part.get("call_id")) or "").startswith(_MCP)
    return "response" in part and "is_error" not in part and (name_of(part.get("id")) or "").startswith(_MCP)


def _told_with_call(call: Mapping[Any, Any]) -> ToolResult | None:
    is_done = call.get("status") in _DONE or call.get("output") is not None or call.get("error") is not None
    return tool_result(name_of(call.get("id")), call, is_message=True) if is_done else None


def _levels(part: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    """Returns the objects in which the provider speaks: what is further inside are the words of the tool."""
    details = part.get(BY_PROVIDER)
    levels = [part, details] if isinstance(details, Mapping) else [part]
    content = levels[-1].get("content")
    if isinstance(content, Mapping):
        return [*levels, content]
    response = part.get("response")  # in the conventions' words: the provider's own, if of the type of its errors
    only = response[0] if isinstance(response, list) and len(response) == 1 else None
    if isinstance(only, Mapping) and (name_of(only.get("type")) or "").endswith(_ERROR_TYPE):
        return [*levels, only]
    return levels


def _has_failed(level: Mapping[Any, Any]) -> bool:
    kind, outcome = name_of(level.get("type")) or "", name_of(level.get("outcome")) or ""
    return (
        level.get("is_error") is True
        or level.get("status") in _FAILED
        or bool(level.get("error"))
        or kind.endswith(_ERROR_TYPE)
        or outcome.lower().endswith(_OUTCOMES)
    )
