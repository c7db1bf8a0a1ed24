"""Haystack's own tracing, 2.x and 3.x, under whatever scope the user's tracer has.

Version 3 has a span for each tool; version 2 one component span for all calls of a turn, so there the calls are taken
from the generator's output, and what became of them from that span's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_failure, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.haystack import exchange_of_haystack
from collector.payloads.tool_results import tool_result
from collector.payloads.values import is_true, name_of

NAME: Final = "haystack"

_LLM_STEP: Final = "haystack.agent.step.llm"
_TOOL_NAME: Final = "haystack.tool.name"
_TOOL_ERROR: Final = "haystack.tool.error"
_TOOL_INPUT: Final = "haystack.agent.step.tool.input"
_TOOL_OUTPUT: Final = "haystack.agent.step.tool.output"
_LLM_INPUT: Final = "haystack.agent.step.llm.input"
_LLM_OUTPUT: Final = "haystack.agent.step.llm.output"
_AGENT_INPUT: Final = "haystack.agent.input"
_COMPONENT_NAME: Final = "haystack.component.name"
_COMPONENT_TYPE: Final = "haystack.component.type"
_COMPONENT_INPUT: Final = "haystack.component.input"
_COMPONENT_OUTPUT: Final = "haystack.component.output"
_HOOK_POINT: Final = "haystack.agent.hook.point"
_BEFORE_TOOL: Final = "before_tool"
_PIPELINE_INPUT: Final = "haystack.pipeline.input_data"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name, which is constant."""
    reader = _READERS.get(span.name)
    return IGNORED if reader is None else reader(span)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.arguments = get(_TOOL_INPUT)
    if is_true(get(_TOOL_ERROR)):
        genai_span.status, genai_span.refusal = "error", tool_result(None, get(_TOOL_OUTPUT)).refusal
        # Without content nothing tells a failure from arguments that do not fit.
        if _TOOL_OUTPUT not in span.attributes:
            doubt_failure(genai_span)
    return genai_span


def _read_llm_step(span: Span) -> GenAISpan:
    return model_span_of(span, NAME, span.attributes.get(_LLM_OUTPUT), span.attributes.get(_LLM_INPUT))


def _read_agent(span: Span) -> GenAISpan:
    return context_span_of(span, Role.AGENT, NAME, span.attributes.get(_AGENT_INPUT))


def _read_hook(span: Span) -> GenAISpan:
    """Reads a hook that sees calls before they are made as a further span of the agent around it: the hook may answer them."""
    if span.attributes.get(_HOOK_POINT) != _BEFORE_TOOL:
        return IGNORED
    genai_span = genai_span_of(span, Role.AGENT, NAME)
    genai_span.note(outcome="hooked")
    return genai_span


def _read_pipeline(span: Span) -> GenAISpan:
    return context_span_of(span, Role.OTHER, NAME, span.attributes.get(_PIPELINE_INPUT))


def _read_component(span: Span) -> GenAISpan:
    get = span.attributes.get
    kind = get(_COMPONENT_TYPE)
    if kind == "Agent":
        genai_span = context_span_of(span, Role.AGENT, NAME, get(_COMPONENT_INPUT))
        genai_span.name = name_of(get(_COMPONENT_NAME))
        return genai_span
    # All calls of a turn run inside this one span, so it is none of them.
    if kind == "ToolInvoker":
        genai_span = genai_span_of(span, Role.GROUP, NAME)
        genai_span.history = exchange_of_haystack(get(_COMPONENT_OUTPUT))
        return genai_span
    if type(kind) is str and kind.endswith("ChatGenerator"):
        return model_span_of(span, NAME, get(_COMPONENT_OUTPUT), get(_COMPONENT_INPUT))
    return IGNORED


_READERS: Final[Mapping[str, Callable[[Span], GenAISpan]]] = {
    "haystack.agent.step.tool": _read_tool,
    _LLM_STEP: _read_llm_step,
    "haystack.agent.run": _read_agent,
    "haystack.agent.hook": _read_hook,
    "haystack.component.run": _read_component,
    "haystack.pipeline.run": _read_pipeline,
    "haystack.async_pipeline.run": _read_pipeline,
}

DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    span_names=(_LLM_STEP,),  # without content
    keys=(
        _COMPONENT_TYPE, _TOOL_NAME, _LLM_INPUT, _LLM_OUTPUT, _HOOK_POINT, "haystack.agent.max_steps",
        "haystack.pipeline.metadata",
    ),
    read_span=read_span,
    markers=(b"haystack.",),
    attributes=frozenset({
        _TOOL_ERROR, _TOOL_INPUT, _TOOL_OUTPUT, _AGENT_INPUT, _COMPONENT_NAME, _COMPONENT_INPUT, _COMPONENT_OUTPUT,
        _PIPELINE_INPUT, _HOOK_POINT, semconv.ERROR_TYPE,
    }),
    output_attributes=("haystack.agent.output", _LLM_OUTPUT, _COMPONENT_OUTPUT, "haystack.pipeline.output_data"),
    tool_definition_attributes=("haystack.agent.tools",),
)  # fmt: skip
