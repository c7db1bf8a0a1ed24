"""Claude Code, the command-line agent, with its beta traces (2.1): one trace for each prompt of the user.

A tool's span holds its input as text under a heading; whether it failed is on the span of its execution, inside. Spans of
a tool that nobody allowed to run have a decision instead of an execution. An agent inside a tool has no span of its own;
requests and calls with its id are inside the tool's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of, refuse_output_of_claude
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.payloads.refusals import BEGAN, UNTOLD, Refusal
from collector.payloads.values import UNREADABLE, is_true, name_of, parse_any

NAME: Final = "claude_code"

_SCOPE: Final = "com.anthropic.claude_code.tracing"
_LOG_SCOPE: Final = "com.anthropic.claude_code.events"
_RESULT_EVENT: Final = "claude_code.tool_result"
_DURATION: Final = "duration_ms"
_PARAMETERS: Final = "tool_parameters"
_ANY_MCP_TOOL: Final = "mcp_tool"
_MCP_NAMES: Final = ("mcp_server_name", "mcp_tool_name")
_TYPE: Final = "span.type"
_TOOL_NAME: Final = "tool_name"
_TOOL_INPUT: Final = "tool_input"
_CALL_ID: Final = "tool_use_id"
_PROMPT: Final = "user_prompt"
_SUCCESS: Final = "success"
_DECISION: Final = "decision"
_AGENT_ID: Final = "agent_id"
_PARENT_AGENT_ID: Final = "parent_agent_id"
_AGENT_TYPE: Final = "subagent_type"
_SOURCE: Final = "query_source"
_OF_AGENT: Final = "agent:"
"""Begins what asked, where that is recorded: `agent:custom:billing`."""
_AGENTS: Final = ("subagent", "inner subagent")
"""How an agent is called that nothing names, and one inside it: an id differs with each run."""
_HEADING: Final = re.compile(r"\[TOOL INPUT: [^\]\n]{1,256}\]\n")
_SHORTENED: Final = re.compile(r'…\[\d{1,12} (?:chars|items)\]"|"<nested>"|"…":"\d{1,12} keys"')
"""In the input of a call as log records have it (2.1.332): a text beyond 512 characters, of which 128 are left, and of lists,
of objects and of what is inside these a part.
"""
_REJECTIONS: Final = ("reject", "rejected", "deny", "denied", "abort", "aborted")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``span.type``."""
    kind = span.attributes.get(_TYPE)
    if kind == "tool":
        return _read_tool(span)
    if kind == "tool.execution":
        return _read_execution(span)
    if kind == "tool.blocked_on_user":
        return _read_decision(span)
    if kind == "llm_request":
        return _read_request(span)
    if kind == "interaction":
        return _read_interaction(span)
    return IGNORED if type(kind) is str else None


def _read_request(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = model_span_of(span, NAME, None, None)
    if _AGENT_ID in span.attributes:
        source = name_of(get(_SOURCE)) or ""
        unnamed = _AGENTS[_PARENT_AGENT_ID in span.attributes]
        genai_span.agent = source.rpartition(":")[2] if source.startswith(_OF_AGENT) else unnamed
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID)) or name_of(get(semconv.TOOL_CALL_ID))
    text = get(_TOOL_INPUT)
    genai_span.arguments = _HEADING.sub("", text, count=1) if type(text) is str else None
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    genai_span.agent = name_of(get(_AGENT_TYPE))  # of the run inside, which begins with this span
    genai_span.refusal = (
        genai_span.refusal or UNTOLD
    )  # unless its execution is inside, or a decision: either may be lost
    refuse_output_of_claude(genai_span)
    genai_span.note(outcome="told", extent="nested")
    return genai_span


def _read_execution(span: Span) -> GenAISpan:
    """Reads the part of a call that says how it ended: without a name, it belongs to the span that encloses it."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    if genai_span.status == "unset":
        success = span.attributes.get(_SUCCESS)
        genai_span.status = "unset" if success is None else "ok" if is_true(success) else "error"
    genai_span.refusal = genai_span.refusal or BEGAN
    genai_span.note(outcome="told", extent="nested")
    return genai_span


def _read_decision(span: Span) -> GenAISpan:
    if span.attributes.get(_DECISION) not in _REJECTIONS:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.status, genai_span.refusal = "error", Refusal()
    return genai_span


def _read_interaction(span: Span) -> GenAISpan:
    conversation_id = name_of(span.attributes.get(semconv.SESSION_ID))
    genai_span = context_span_of(span, Role.AGENT, NAME, span.attributes.get(_PROMPT), conversation_id)
    genai_span.name = "claude-code"
    genai_span.note(traced_calls="all")
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """Reads the event with a call's arguments, a record of the call beside its span; None for any other log record."""
    get = record.attributes.get
    if record.scope.name != _LOG_SCOPE:
        return None
    given = get(_TOOL_INPUT)
    if record.body != _RESULT_EVENT or not record.span_id or type(given) is not str:
        return IGNORED
    start_ns = record.time_ns - _milliseconds(get(_DURATION)) * 1_000_000
    event = GenAISpan(record.span_id, b"", start_ns, record.time_ns, Role.EVENT, NAME, record.resource)
    event.scope = _LOG_SCOPE
    event.name, event.call_id = _tool_of_event(record), name_of(get(_CALL_ID))
    event.arguments = given if _SHORTENED.search(given) is None else UNREADABLE
    event.status = "ok" if is_true(get(_SUCCESS)) else "error"
    event.refusal = BEGAN
    return event if event.name is not None and event.call_id is not None else IGNORED


def _milliseconds(value: object) -> int:
    text = str(value)
    return int(text) if len(text) < 10 and text.isascii() and text.isdecimal() else 0


def _tool_of_event(record: LogRecord) -> str | None:
    """Returns the tool that an event names, one of an MCP server as its span does: events have its name elsewhere."""
    name = name_of(record.attributes.get(_TOOL_NAME))
    if name != _ANY_MCP_TOOL:
        return name
    parts = parse_any(record.attributes.get(_PARAMETERS))
    named = [name_of(parts.get(key)) for key in _MCP_NAMES] if isinstance(parts, Mapping) else []
    return f"mcp__{named[0]}__{named[1]}" if len(named) == 2 and None not in named else None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    read_log=read_log,
    attributes=frozenset({_TOOL_NAME, _TOOL_INPUT, _CALL_ID, _SUCCESS, _DURATION, _PARAMETERS}),
    log_markers=(_RESULT_EVENT.encode(),),
)
