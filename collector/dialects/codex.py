"""Codex, the command-line agent (0.169): spans of every function it runs, and log events with what was called.

A call is the span that has a tool, a call id and a phase; its arguments, and whether it succeeded, are in the log event
``codex.tool_result``, recorded inside. Other spans repeat the tool's name or the id.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, GenAISpan, Role, context_span_of, genai_span_of
from collector.model.span import LogRecord, Span
from collector.payloads.values import name_of

NAME: Final = "codex"

_TOOL_NAME: Final = "tool_name"
_CALL_ID: Final = "call_id"
_PHASE: Final = "codex.tool.phase"
_RESULT_EVENT: Final = "codex.tool_result"
_ARGUMENTS: Final = "arguments"
_SUCCESS: Final = "success"
_CONVERSATION: Final = "conversation.id"
_TURN_SPAN: Final = "session_task.turn"
_SCOPES: Final = ("codex_exec", "codex_cli_rs", "codex_tui", "codex_app_server", "codex_vscode")


def read_span(span: Span) -> GenAISpan | None:
    """Reads calls and turns; everything else that Codex traces is one of its own functions."""
    if span.name == _TURN_SPAN:
        return _read_turn(span)
    return _read_tool(span) if _PHASE in span.attributes else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.call_id = name_of(get(_TOOL_NAME)), name_of(get(_CALL_ID))
    genai_span.conversation_id = name_of(get(_CONVERSATION))
    return genai_span


def _read_turn(span: Span) -> GenAISpan:
    genai_span = context_span_of(span, Role.AGENT, NAME)
    for event in span.events:
        genai_span.conversation_id = genai_span.conversation_id or name_of(event.attributes.get(_CONVERSATION))
    genai_span.name, genai_span.tracing = "codex", "complete"
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """Reads the event with a call's arguments, as a part of the call whose span encloses the span it was recorded in."""
    get = record.attributes.get
    if get(semconv.EVENT_NAME) != _RESULT_EVENT or not record.span_id:
        return None
    event = GenAISpan(record.span_id, record.span_id, record.time_ns, record.time_ns, Role.EVENT, NAME, record.resource)
    event.name, event.call_id = name_of(get(_TOOL_NAME)), name_of(get(_CALL_ID))
    event.arguments = get(_ARGUMENTS)
    event.status = "ok" if get(_SUCCESS) in (True, "true") else "error"
    return event


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_PHASE,),
    scopes=_SCOPES,
    read_span=read_span,
    markers=(b"codex.t",),  # the phase of a call, and the usage of a turn
    attributes=frozenset({_TOOL_NAME, _CALL_ID, _ARGUMENTS, _SUCCESS, _CONVERSATION}),
    read_log=read_log,
    log_markers=(_RESULT_EVENT.encode(),),
)
