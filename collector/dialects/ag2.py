"""AG2 through OpenInference (openinference-instrumentation-ag2 0.1, ag2 0.14): chats, and each reply in them, as agents.

Who starts a chat, and executes the tools that are asked for, is an agent of AG2, too. The chat is the run, and is that of the
agent that was addressed; a reply is a request to its model, or tells the results of the calls that were made meanwhile.

Its own spans (1.2) follow the conventions, but for what a human is asked while a call waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import STATUS_ERROR, Span
from collector.payloads.refusals import Refusal, find_refusal
from collector.payloads.values import name_of, parse_any

NAME: Final = "ag2"

_SCOPE: Final = "openinference.instrumentation.ag2"
_OWN_SCOPE: Final = "opentelemetry.instrumentation.ag2"
_TYPE: Final = "ag2.span.type"
_QUESTION: Final = "ag2.human_input.prompt"
_ANSWER: Final = "ag2.human_input.response"
_APPROVAL: Final = "Agent wants to call the tool:\n`"
"""How it asks whether a call may run, unless the tool has words of its own for it."""
_APPROVED: Final = ("y", "yes", "1", "always")
_TOOL_NAME: Final = "tool.name"
_AGENT_NAME: Final = "agent.name"
_RECIPIENT: Final = "ag2.recipient.name"
_CHATS: Final = (".initiate_chat", ".a_initiate_chat")
_REPLIES: Final = (".generate_reply", ".a_generate_reply")
_RESULTS: Final = '"tool_responses":'
_NO_JSON: Final = "The argument must be in JSON format."
_PREFIX: Final = "Error: "


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None leaves it to OpenInference, which also reads what a tool's span holds, or to the
    conventions."""
    if span.scope.name == _OWN_SCOPE:
        return _read_question(span) if span.attributes.get(_TYPE) == "human_input" else None
    if span.attributes.get(semconv.OPENINFERENCE_KIND) == "TOOL" and _TOOL_NAME in span.attributes:
        return _read_tool(span)
    if span.name.endswith(_CHATS):
        return _read_chat(span)
    if span.parent_span_id and span.name.endswith(_REPLIES):
        return _read_reply(span)
    return None


def _read_chat(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(semconv.INPUT_VALUE))
    genai_span.name = name_of(get(_RECIPIENT)) or name_of(get(_AGENT_NAME))
    return genai_span


def _read_reply(span: Span) -> GenAISpan:
    output = span.attributes.get(semconv.OUTPUT_VALUE)
    if output is None and span.status != STATUS_ERROR:
        return IGNORED  # it had nothing to say, which ends the chat
    if type(output) is str and output[:1] == "{" and _RESULTS in output:
        return IGNORED
    return model_span_of(span, NAME, output, span.attributes.get(semconv.INPUT_VALUE))


def _read_tool(span: Span) -> GenAISpan:
    """Reads what the result says, a pair of whether the call succeeded and the message for the model."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    if genai_span.status != "error":
        return genai_span
    result = parse_any(span.attributes.get(semconv.OUTPUT_VALUE))
    message = result[1] if isinstance(result, list) and len(result) == 2 else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if type(content) is str:
        is_no_json = content.startswith(_PREFIX) and content.endswith(_NO_JSON)
        genai_span.refusal = Refusal() if is_no_json else find_refusal(content.removeprefix(_PREFIX))
    return genai_span


def _read_question(span: Span) -> GenAISpan:
    """Reads what a human was asked. Inside a call, to whose span it belongs without a name, it may be whether that may run."""
    get = span.attributes.get
    question, answer = get(_QUESTION), get(_ANSWER)
    if type(answer) is str and answer.lower() in _APPROVED:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    is_sure = type(question) is str and question.startswith(_APPROVAL)
    genai_span.refusal = Refusal(is_sure=is_sure)
    if is_sure:
        genai_span.status = "error"
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE, _OWN_SCOPE),
    read_span=read_span,
    attributes=frozenset(
        {
            semconv.OPENINFERENCE_KIND,
            _TOOL_NAME,
            _AGENT_NAME,
            _RECIPIENT,
            semconv.INPUT_VALUE,
            semconv.OUTPUT_VALUE,
            _TYPE,
            _QUESTION,
            _ANSWER,
        }
    ),
    output_attributes=(semconv.OUTPUT_VALUE,),
)
