"""MLflow Tracing exported over OTLP (mlflow 2.14+): every attribute is JSON, even plain strings (``"\\"TOOL\\""``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import note_graph
from collector.model.span import Span
from collector.payloads.tool_results import failure_in_message
from collector.payloads.values import find_text, first_name, name_of, parse_any

NAME: Final = "mlflow"

_TYPE: Final = "mlflow.spanType"
_INPUT: Final = "mlflow.spanInputs"
_OUTPUT: Final = "mlflow.spanOutputs"
_FUNCTION: Final = "mlflow.spanFunctionName"
_CALL_ID: Final = "tool_call_id"
_METADATA: Final = "metadata"
_TOOL_NAME: Final = "name"
_DSPY: Final = "Tool."
"""Begins the name of the span of a call of DSPy, before that of its tool."""
_OF_CLASS: Final = (".__call__", ".call", ".acall")
"""End the name of a span that names the class of its tool, and not the tool: smolagents, LlamaIndex."""
_LANGCHAIN_AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
_INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
_LANGCHAIN_THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``mlflow.spanType``; a chain with the name of LangChain's agent is that agent's run."""
    kind = _text(span, _TYPE)
    if kind == "TOOL":
        return _read_tool(span)
    if kind in ("CHAT_MODEL", "LLM"):
        return _read_model(span)
    is_agent = kind == "AGENT" or find_text(_LANGCHAIN_AGENT, span.attributes.get(_METADATA)) == span.name
    if is_agent or not span.parent_span_id:
        return _read_context(span, Role.AGENT if is_agent else Role.OTHER)
    return IGNORED


def _text(span: Span, key: str) -> str | None:
    return name_of(parse_any(span.attributes.get(key)))


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = first_name(span.attributes, semconv.TOOL_NAMES) or _text(span, _FUNCTION)
    if genai_span.name is None:
        is_of_dspy = span.name.startswith(_DSPY) and span.name == f"{_DSPY}{_text(span, _TOOL_NAME)}"
        is_named = is_of_dspy or span.name.endswith(_OF_CLASS)
        genai_span.name = _text(span, _TOOL_NAME) if is_named else name_of(span.name)
    genai_span.call_id = _text(span, _CALL_ID)
    genai_span.arguments = span.attributes.get(_INPUT)
    if span.name.endswith(_OF_CLASS):
        genai_span.arguments = _arguments_of_method(genai_span.arguments)
    if genai_span.status != "error" and (told := failure_in_message(span.attributes.get(_OUTPUT))) is not None:
        genai_span.status, genai_span.refusal = "error", told.refusal
    if genai_span.status != "error" and _INPUT in span.attributes and _OUTPUT not in span.attributes:
        # It writes `null` for what returns nothing, and ends well the span of a function that was cancelled.
        genai_span.status, genai_span.tracing = "unset", "told"
    genai_span.agent = find_text(_LANGCHAIN_AGENT, span.attributes.get(_METADATA))
    return genai_span


def _arguments_of_method(given: object) -> object:
    """Returns what a tool was called with: a method that takes anything has it in its `kwargs`."""
    record = parse_any(given)
    is_named = isinstance(record, Mapping) and record.keys() <= {"args", "kwargs"} and not record.get("args")
    return record.get("kwargs", {}) if is_named else given


def _read_model(span: Span) -> GenAISpan:
    genai_span = model_span_of(span, NAME, span.attributes.get(_OUTPUT), span.attributes.get(_INPUT))
    genai_span.agent = find_text(_LANGCHAIN_AGENT, span.attributes.get(_METADATA))
    return genai_span


def _read_context(span: Span, role: Role) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, role, NAME, get(_INPUT), find_text(_LANGCHAIN_THREAD, get(_METADATA)))
    genai_span.name = genai_span.agent = name_of(span.name)
    note_graph(genai_span, span, find_text(_INTEGRATION, get(_METADATA)))
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(b"mlflow.spanType",),
    attributes=frozenset({
        _INPUT, _OUTPUT, _FUNCTION, _CALL_ID, _TOOL_NAME, _METADATA, *semconv.TOOL_NAMES, semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
    tool_definition_attributes=("mlflow.chat.tools",),
)  # fmt: skip
