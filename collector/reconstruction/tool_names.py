"""Whether two names are of one tool: libraries for MCP and frameworks name it in ways of their own."""

from __future__ import annotations

from typing import Final

from collector.model.genai_span import BY_SHAPE, GenAISpan

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
        or is_stand_in_for(one, other)
        or is_stand_in_for(other, one)
    )


def is_stand_in_for(span: GenAISpan, refused: GenAISpan) -> bool:
    """Whether a span read by its shape names what ran in place of a refused tool: OpenCode's `invalid`, with the call's id."""
    is_refused = refused.refusal is not None and refused.refusal.is_sure and refused.dialect != BY_SHAPE
    return is_refused and span.dialect == BY_SHAPE and span.call_id is not None and span.call_id == refused.call_id


def is_mcp(span: GenAISpan) -> bool:
    """Whether a library for MCP recorded the span: it knows a tool by the name that its server gives it."""
    return span.dialect == "mcp" or "mcp" in span.scope


def is_prefixed(long: str, short: str) -> bool:
    """Whether ``long`` is the name ``short`` of an MCP tool with something before it, as of its server."""
    # The separator is what tells `github__search` from `research`, which is no `search` of any server.
    return len(long) > len(short) + 1 and long.endswith(short) and long[: -len(short)].endswith(_SEPARATORS)
