"""Whether two names are of one tool: libraries for MCP and frameworks name it in ways of their own."""

from __future__ import annotations

from typing import Final

from collector.model.genai_span import GenAISpan

_SEPARATORS: Final = ("_", ".", "-", "/", ":")


def is_same_tool(one: GenAISpan, other: GenAISpan) -> bool:
    """Whether two spans name the same tool: frameworks put the name of its server before that of an MCP tool."""
    if one.name == other.name:
        return True
    if one.name is None or other.name is None:
        return False
    name, other_name = one.name.strip(), other.name.strip()
    return (
        name == other_name
        or (is_mcp(other) and is_prefixed(name, other_name))
        or (is_mcp(one) and is_prefixed(other_name, name))
    )


def is_mcp(span: GenAISpan) -> bool:
    """Whether a library for MCP recorded the span: it knows a tool by the name that its server gives it."""
    return span.dialect == "mcp" or "mcp" in span.scope


def is_prefixed(long: str, short: str) -> bool:
    """Whether ``long`` is the name ``short`` of an MCP tool with something before it, as of its server."""
    # The separator is what tells `github__search` from `research`, which is no `search` of any server.
    return len(long) > len(short) + 1 and long.endswith(short) and long[: -len(short)].endswith(_SEPARATORS)
