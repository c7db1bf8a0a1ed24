"""Eino (CloudWeGo, Go) through its APMPlus callbacks: a span for each component of a graph, named in ``runinfo.component``.

What a component was given is `gen_ai.prompt.0`, what came of it `gen_ai.completion.0`. An answer of a model is its text or,
only where it has none, the whole message with the calls that it asks for.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import MAX_CHARS, Refusal
from collector.payloads.values import name_of

NAME: Final = "eino"

_SCOPE: Final = "github.com/cloudwego/eino-ext/callbacks/apmplus"
_COMPONENT: Final = "runinfo.component"
_COMPONENT_NAME: Final = "runinfo.name"
_KIND: Final = "gen_ai.span.kind"
_GIVEN: Final = "gen_ai.prompt.0.content"
_ANSWER: Final = "gen_ai.completion.0.content"
_USER_INPUT: Final = "gen_ai.input"
_OUTPUT: Final = "gen_ai.output"
_SESSION: Final = "gen_ai.session.id"
_OF_AGENT: Final = re.compile(r'\[?\{(?:"Input":\{)?"Messages":(.*),"EnableStreaming":', re.DOTALL)
"""What an agent of Eino's ADK is given; streamed, it is in a list. Other chains and graphs, and that inside it, are given
the messages themselves. Since 0.9 an agent has a span of its own around its chain, which is given nothing."""
_RESUMED: Final = '{"Input":null,"ResumeInfo":{'
"""How that begins which an agent is given (0.9) where a human has answered, in a trace of its own."""
_ENDED: Final = re.compile(r"\bexceeds max steps\b|\btool \S{1,256} not found in toolsNode indexes\b")
"""With this a run ends in place of all calls of its last answer: one of a tool that does not exist keeps the others from it."""
_INTERRUPTED: Final = "interrupt happened, info: "
"""So a graph ends to wait for a human, before or after one of its nodes."""
_NOTHING: Final = "null"
"""What is given to what goes on once a human has answered."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its component: the outermost of any other kind is the agent's run, as is an agent in a tool."""
    component = span.attributes.get(_COMPONENT)
    if component == "Tool":
        return _read_tool(span)
    if component == "ChatModel":
        return model_span_of(span, NAME, span.attributes.get(_ANSWER), None)
    is_outermost = span.attributes.get(_KIND) == "workflow"
    return _read_agent(span, is_outermost) if is_outermost or component in ("Agent", "Chain") else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_COMPONENT_NAME)) or name_of(span.name)
    genai_span.arguments = get(_GIVEN)
    # Also where no request tells that it waits, as in what goes on before the graph's next one.
    if genai_span.is_pending:
        genai_span.refusal = Refusal(is_sure=False, is_likely=True)
    genai_span.conversation_id = name_of(get(_SESSION))
    return genai_span


def _read_agent(span: Span, is_outermost: bool) -> GenAISpan:
    get = span.attributes.get
    given = get(_USER_INPUT if is_outermost else _GIVEN)
    of_agent = _OF_AGENT.match(given) if type(given) is str else None
    is_resumed = type(given) is str and given.startswith(_RESUMED)
    if is_resumed:
        given = None
    elif of_agent is not None:
        given = of_agent[1]
    elif not is_outermost and get(_COMPONENT) != "Agent":
        return IGNORED
    genai_span = context_span_of(span, Role.AGENT, NAME, given, name_of(get(_SESSION)))
    genai_span.name = name_of(get(_COMPONENT_NAME))
    genai_span.note(traced_calls="all")
    # Until 0.6 what goes on once a human has answered are traces of their own, one of the tools alone.
    if given == _NOTHING or get(_COMPONENT) == "ToolsNode":
        genai_span.note(extent="apart")
    elif is_resumed:
        genai_span.note(extent="resumed")
    if span.status_message.startswith(_INTERRUPTED):
        genai_span.note(outcome="open")
    if _ENDED.search(span.status_message, 0, MAX_CHARS) is not None:
        genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(_COMPONENT.encode(),),
    attributes=frozenset({
        _COMPONENT, _COMPONENT_NAME, _KIND, _GIVEN, _ANSWER, _USER_INPUT, _SESSION, semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
