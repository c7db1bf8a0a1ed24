"""Codex, the command-line agent (0.130 to 0.171): spans of every function it runs, and log events with what was called.

A call is the span that has a tool, a call id and a phase. Whether it succeeded is in the event ``codex.tool_result`` of a
span inside, and the log event of that name has its arguments and its output as well. Other spans repeat the tool's name or
the id. The tool of an MCP server is in a namespace, without which events name it, and which its span joins to its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.payloads.refusals import BEGAN, UNTOLD, Refusal, find_refusal
from collector.payloads.values import is_true, name_of

NAME: Final = "codex"

_TOOL_NAME: Final = "tool_name"
_NAMESPACE: Final = "tool_namespace"
_OWN: Final = "functions"
"""The namespace of tools that Codex itself has, which is no part of their names."""
_CALL_ID: Final = "call_id"
_PHASE: Final = "codex.tool.phase"
_RESULT_EVENT: Final = "codex.tool_result"
_ARGUMENTS: Final = "arguments"
_OUTPUT: Final = "output"
_SUCCESS: Final = "success"
_CONVERSATION: Final = "conversation.id"
_TURN_SPAN: Final = "session_task.turn"
_SCOPES: Final = ("codex_exec", "codex_cli_rs", "codex_tui", "codex_app_server", "codex_vscode")
_DISPATCH: Final = "dispatch_tool_call_with_state"
_NOT_RUN: Final = re.compile(
    "|".join((
        r"\A(?:unsupported (?:custom tool )?call|failed to parse function arguments): ",
        r"\A(?:Tool call|Command) blocked by PreToolUse hook: ",
        r"\Aapproval policy is [^;\n]{1,256}; reject command\b",
        r"\Ayou cannot request additional permissions unless\b",
        r"\Aapproval required by policy\b",
        r"\A(?:exec_command|write_stdin) failed(?: for `[^\n]{1,2000}?`)?: CreateProcess \{ message: \"Rejected\(",
        r"\A`[^\n]{1,2000}?` rejected: (?:policy forbids|blocked by policy)\b",
        r"\AThis action was rejected due to unacceptable risk\.",
        r"\AThe action (?:did not run|was not executed)\b",
        r"\AMCP tool call cancelled\b",
        r"\Atool call rejected because the catalog changed\b",
    ))
)  # fmt: skip
"""What Codex (0.171) says of a call that it did not make, without the heading of a tool's output: of tools that it does not
have, arguments of its own, hooks, rules, and its policy of approvals."""
_HEADING: Final = re.compile(r"\AWall time: [\d.]{1,20} seconds\nOutput:\n")


def read_span(span: Span) -> GenAISpan | None:
    """Reads calls and turns; everything else that Codex traces is one of its own functions."""
    if span.name == _TURN_SPAN:
        return _read_turn(span)
    return _read_tool(span) if _PHASE in span.attributes else _read_outcome(span)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.call_id = name_of(get(_TOOL_NAME)), name_of(get(_CALL_ID))
    for event in span.events[:MAX_EVENTS]:
        if genai_span.call_id is not None and event.attributes.get(_CALL_ID) == genai_span.call_id:
            genai_span.name = _tool_of(event.attributes) or genai_span.name
    genai_span.conversation_id = name_of(get(_CONVERSATION))
    return genai_span


def _tool_of(attributes: Mapping[str, Any]) -> str | None:
    """Returns the tool that an event names, with its namespace as the configuration of Codex has it: `mcp__shop__pay`."""
    name, namespace = name_of(attributes.get(_TOOL_NAME)), name_of(attributes.get(_NAMESPACE))
    if name is None or namespace in (None, _OWN):
        return name
    return f"{namespace.removesuffix('__')}__{name}"


def _read_outcome(span: Span) -> GenAISpan:
    """Reads the span inside a call that has the event with what came of it."""
    for event in span.events[:MAX_EVENTS]:
        if event.attributes.get(semconv.EVENT_NAME) == _RESULT_EVENT:
            genai_span = genai_span_of(span, Role.TOOL, NAME)
            _read_result(genai_span, event.attributes)
            return genai_span
    if span.name != _DISPATCH:
        return IGNORED
    # It ends without a result where a hook blocked the call, and where the turn was interrupted.
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.refusal = Refusal(is_sure=False)
    return genai_span


def _read_result(genai_span: GenAISpan, attributes: Mapping[str, Any]) -> None:
    get = attributes.get
    genai_span.name, genai_span.call_id = _tool_of(attributes), name_of(get(_CALL_ID))
    genai_span.status = "ok" if is_true(get(_SUCCESS)) else "error"
    output = get(_OUTPUT)
    if genai_span.status == "error" and type(output) is str:
        is_sure = _NOT_RUN.match(output) is not None
        genai_span.refusal = Refusal() if is_sure else find_refusal(_HEADING.sub("", output, count=1)) or BEGAN
    elif genai_span.status == "error":
        genai_span.refusal = UNTOLD
    else:
        genai_span.refusal = BEGAN


def _read_turn(span: Span) -> GenAISpan:
    genai_span = context_span_of(span, Role.AGENT, NAME)
    for event in span.events:
        genai_span.conversation_id = genai_span.conversation_id or name_of(event.attributes.get(_CONVERSATION))
    genai_span.name = "codex"
    genai_span.note(traced_calls="all")
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """Reads the event with a call's arguments, as a part of the call whose span encloses the span it was recorded in."""
    get = record.attributes.get
    if get(semconv.EVENT_NAME) != _RESULT_EVENT or not record.span_id:
        return None
    event = GenAISpan(record.span_id, record.span_id, record.time_ns, record.time_ns, Role.EVENT, NAME, record.resource)
    event.arguments = get(_ARGUMENTS)
    _read_result(event, record.attributes)
    return event


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_PHASE,),
    scopes=_SCOPES,
    read_span=read_span,
    markers=(b"codex.t",),  # the phase of a call, and the usage of a turn
    attributes=frozenset({_TOOL_NAME, _NAMESPACE, _CALL_ID, _ARGUMENTS, _OUTPUT, _SUCCESS, _CONVERSATION}),
    read_log=read_log,
    log_markers=(_RESULT_EVENT.encode(),),
)
