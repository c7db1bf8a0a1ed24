"""OpenLIT where it departs from the GenAI conventions (openlit 1.4x): decorated functions, nodes of LangGraph graphs."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, GenAISpan, Role, context_span_of, genai_span_of
from collector.model.span import Span
from collector.payloads.values import name_of

NAME: Final = "openlit"

_FUNCTIONS_SCOPE: Final = "openlit"
_NODES_SCOPE: Final = "openlit.instrumentation.langgraph"
_FLOW_SCOPE: Final = "openlit.instrumentation.crewai"
_ARGS: Final = "function.args"
_KWARGS: Final = "function.kwargs"
_NO_ARGS: Final = ("()", None)


def read_span(span: Span) -> GenAISpan | None:
    """Reads a function below another as a tool, since nothing marks tools; one that failed has nothing but its name."""
    if span.scope.name == _NODES_SCOPE:
        # Its agents are only graph nodes; the LangChain instrumentation beside it records the real agents.
        return IGNORED if span.attributes.get(semconv.OPERATION_NAME) == "invoke_agent" else None
    if span.scope.name == _FLOW_SCOPE:
        # Without a name it is a method of the flow by which CrewAI runs an agent.
        is_method = semconv.AGENT_NAME not in span.attributes
        return IGNORED if is_method and span.attributes.get(semconv.OPERATION_NAME) == "invoke_agent" else None
    if semconv.OPERATION_NAME in span.attributes:
        return None
    if not span.parent_span_id:
        return context_span_of(span, Role.OTHER, NAME, span.attributes.get(_ARGS))
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name)
    if span.attributes.get(_ARGS) in _NO_ARGS:
        genai_span.arguments = span.attributes.get(_KWARGS)  # a Python repr
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=(_FUNCTIONS_SCOPE, _NODES_SCOPE, _FLOW_SCOPE),
    read_span=read_span,
    attributes=frozenset({_ARGS, _KWARGS, semconv.AGENT_NAME, semconv.OPERATION_NAME, semconv.ERROR_TYPE}),
    whole_scopes=(_FUNCTIONS_SCOPE,),
)
