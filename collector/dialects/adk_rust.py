"""ADK for Rust (the crates adk-* 2.3): spans of its runner and of its agent under the scope of the application.

It names attributes as Google's ADK does, and what a span holds otherwise: the arguments of a call are an event inside its
span, and what came of it is an event of the span around it, so that only the next request to the model tells which call
failed. A request's and an answer's calls have no word that says so.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import MAX_TEXT, name_of

NAME: Final = "adk_rust"

_PREFIX: Final = "gcp.vertex.agent."
_INVOCATION: Final = _PREFIX + "invocation_id"
_REQUEST: Final = _PREFIX + "llm_request"
_RESPONSE: Final = _PREFIX + "llm_response"
_TARGET: Final = "target"
_CRATES: Final = "adk_"
_TOOL_NAME: Final = "tool.name"
_ARGUMENTS: Final = "tool.args"
_AGENT_NAME: Final = "agent.name"
_AGENT_TOOL: Final = "agent_tool.name"
"""On the span of an agent inside a tool of another, which is inside that of the tool."""
_TOOL_SPAN: Final = "execute_tool "
_CALL: Final = "tool_call"
_CUT: Final = " bytes]"
"""Ends arguments that were too long to be recorded."""
# A part of a message that is a call. In values from JSON the keys of an object are sorted, so none of those begins like this.
_PART: Final = re.compile(r'(?<=[\[,])\{"name":("(?:[^"\\]|\\.)*"),"args":')


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None if another ADK wrote it."""
    target = span.attributes.get(_TARGET)
    if type(target) is not str or not target.startswith(_CRATES):
        return None
    if span.name.startswith(_TOOL_SPAN):
        return _read_tool(span)
    if span.name == "call_llm":
        return _read_model(span)
    if _AGENT_TOOL in span.attributes:
        return _read_agent(span, _AGENT_TOOL)
    return _read_agent(span, _AGENT_NAME) if span.name == "agent.execute" else None


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_TOOL_NAME)) or name_of(span.name.removeprefix(_TOOL_SPAN))
    for event in span.events[:MAX_EVENTS]:  # one for each attempt
        if event.name == _CALL and genai_span.arguments is None:
            genai_span.arguments = _whole(event.attributes.get(_ARGUMENTS))
    genai_span.conversation_id = name_of(span.attributes.get(semconv.CONVERSATION_ID))
    genai_span.note(outcome="told")
    return genai_span


def _whole(arguments: object) -> object:
    return None if type(arguments) is str and arguments.endswith(_CUT) else arguments


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = model_span_of(span, NAME, _with_calls(get(_RESPONSE)), _with_calls(get(_REQUEST)))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    return genai_span


def _with_calls(messages: object) -> object:
    """Returns messages in which the parts that are calls say so."""
    if type(messages) is not str or len(messages) > MAX_TEXT:
        return messages
    return _PART.sub(r'{"type":"tool_call","name":\1,"arguments":', messages)


def _read_agent(span: Span, name: str) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, conversation_id=name_of(get(semconv.CONVERSATION_ID)))
    genai_span.name = name_of(get(name))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_INVOCATION, _AGENT_TOOL),
    read_span=read_span,
    attributes=frozenset({
        _REQUEST, _RESPONSE, _TARGET, _TOOL_NAME, _ARGUMENTS, _AGENT_NAME, semconv.CONVERSATION_ID, semconv.ERROR_TYPE,
    }),
    output_attributes=(_RESPONSE,),
    request_attributes=(_REQUEST,),
)  # fmt: skip
