"""Haystack's own tracing, 2.x and 3.x, under whatever scope the user's tracer has.

Version 3 has a span for each tool; version 2 one component span for all calls of a turn, so that there the calls come
from what the generator answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
from collector.payloads.values import name_of

NAME: Final = "haystack"

_TOOL_NAME: Final = "haystack.tool.name"
_TOOL_ERROR: Final = "haystack.tool.error"
_TOOL_INPUT: Final = "haystack.agent.step.tool.input"
_LLM_INPUT: Final = "haystack.agent.step.llm.input"
_LLM_OUTPUT: Final = "haystack.agent.step.llm.output"
_AGENT_INPUT: Final = "haystack.agent.input"
_COMPONENT_NAME: Final = "haystack.component.name"
_COMPONENT_TYPE: Final = "haystack.component.type"
_COMPONENT_INPUT: Final = "haystack.component.input"
_COMPONENT_OUTPUT: Final = "haystack.component.output"
_PIPELINE_INPUT: Final = "haystack.pipeline.input_data"


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by its name, which Haystack fixes."""
    reader = _READERS.get(span.name)
    return IGNORED if reader is None else reader(span)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.arguments = get(_TOOL_INPUT)
    if get(_TOOL_ERROR) is True:
        genai_span.status = "error"
    return genai_span


def _read_step(span: Span) -> GenAISpan:
    return _read_model(span, span.attributes.get(_LLM_OUTPUT), span.attributes.get(_LLM_INPUT))


def _read_model(span: Span, output: object, messages: object) -> GenAISpan:
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    if may_contain_tool_calls(output):
        genai_span.output = output
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    genai_span = _read_context(span, span.attributes.get(_AGENT_INPUT))
    genai_span.role = Role.AGENT
    return genai_span


def _read_pipeline(span: Span) -> GenAISpan:
    return _read_context(span, span.attributes.get(_PIPELINE_INPUT))


def _read_context(span: Span, user_input: object) -> GenAISpan:
    genai_span = genai_span_of(span, Role.OTHER, NAME)
    genai_span.user_input = user_input
    genai_span.attributes = context_attributes(span)
    return genai_span


def _read_component(span: Span) -> GenAISpan:
    get = span.attributes.get
    kind = get(_COMPONENT_TYPE)
    if kind == "Agent":
        genai_span = _read_agent(span)
        genai_span.name = name_of(get(_COMPONENT_NAME))
        genai_span.user_input = get(_COMPONENT_INPUT)
        return genai_span
    if kind == "ToolInvoker":
        return genai_span_of(span, Role.GROUP, NAME)
    if type(kind) is str and kind.endswith("ChatGenerator"):
        return _read_model(span, get(_COMPONENT_OUTPUT), get(_COMPONENT_INPUT))
    return IGNORED


_READERS: Final[Mapping[str, Callable[[Span], GenAISpan]]] = {
    "haystack.agent.step.tool": _read_tool,
    "haystack.agent.step.llm": _read_step,
    "haystack.agent.run": _read_agent,
    "haystack.component.run": _read_component,
    "haystack.pipeline.run": _read_pipeline,
    "haystack.async_pipeline.run": _read_pipeline,
}


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_COMPONENT_TYPE, _TOOL_NAME, _LLM_INPUT, _LLM_OUTPUT, "haystack.agent.max_steps", "haystack.pipeline.metadata"),
    read_span=read_span,
    markers=(b"haystack.",),
    attributes=frozenset({
        _TOOL_ERROR, _TOOL_INPUT, _AGENT_INPUT, _COMPONENT_NAME, _COMPONENT_INPUT, _COMPONENT_OUTPUT, _PIPELINE_INPUT,
        semconv.ERROR_TYPE,
    }),
    output_attributes=("haystack.agent.output", _LLM_OUTPUT, _COMPONENT_OUTPUT, "haystack.pipeline.output_data"),
    tool_definition_attributes=("haystack.agent.tools",),
)  # fmt: skip
