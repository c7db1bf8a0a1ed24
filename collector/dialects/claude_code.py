"""Claude Code, the command-line agent, with its beta traces (2.1): one trace for each prompt of the user.

A tool's span holds its input as text under a heading; whether it failed is on the span of its execution, inside. Spans of
a tool that nobody allowed to run have a decision instead of an execution.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal
from collector.payloads.values import name_of

NAME: Final = "claude_code"

_SCOPE: Final = "com.anthropic.claude_code.tracing"
_TYPE: Final = "span.type"
_TOOL_NAME: Final = "tool_name"
_TOOL_INPUT: Final = "tool_input"
_CALL_ID: Final = "tool_use_id"
_PROMPT: Final = "user_prompt"
_SUCCESS: Final = "success"
_DECISION: Final = "decision"
_HEADING: Final = re.compile(r"\[TOOL INPUT: [^\]\n]{1,256}\]\n")
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
        return model_span_of(span, NAME, None, None)
    if kind == "interaction":
        return _read_interaction(span)
    return IGNORED if type(kind) is str else None


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID)) or name_of(get(semconv.TOOL_CALL_ID))
    text = get(_TOOL_INPUT)
    genai_span.arguments = _HEADING.sub("", text, count=1) if type(text) is str else None
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    genai_span.note(outcome="told")
    return genai_span


def _read_execution(span: Span) -> GenAISpan:
    """Reads the part of a call that says how it ended: without a name, it belongs to the span that encloses it."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    if genai_span.status == "unset":
        success = span.attributes.get(_SUCCESS)
        genai_span.status = "unset" if success is None else "ok" if success in (True, "true") else "error"
    genai_span.note(outcome="told")
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


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
)
