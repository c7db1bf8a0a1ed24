"""Langfuse's SDK, version 3 to 5: typed observations with inputs and outputs, and the trace's metadata on every span."""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import compare_with_offered, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import MODEL_NODES, inner_graph, is_graph, note_graph, note_node
from collector.model.span import Span
from collector.payloads.haystack import exchange_of_haystack
from collector.payloads.offered_tools import offers_hosted, tools_in_request
from collector.payloads.refusals import is_interrupt
from collector.payloads.span_names import is_named_after, tool_in_span_name
from collector.payloads.told_failures import flagged_failure
from collector.payloads.tool_arguments import is_summary, keyword_arguments
from collector.payloads.values import UNREADABLE, first_name, is_true, name_of, parse_any

NAME: Final = "langfuse"

_TYPE: Final = "langfuse.observation.type"
_INPUT: Final = "langfuse.observation.input"
_OUTPUT: Final = "langfuse.observation.output"
_LEVEL: Final = "langfuse.observation.level"
_STATUS_MESSAGE: Final = "langfuse.observation.status_message"
_CALL_ID: Final = "langfuse.observation.metadata.tool_call_id"
_TOOL_NAME: Final = "langfuse.observation.metadata.tool_name"
_HAYSTACK_TOOL: Final = "langfuse.observation.metadata.haystack.tool.name"
_HAYSTACK_ERROR: Final = "langfuse.observation.metadata.haystack.tool.error"
_COMPONENT_TYPE: Final = "langfuse.observation.metadata.haystack.component.type"
_COLOR: Final = "langfuse.observation.metadata.color"
"""That in which LangChain prints a tool, and nothing else: the callback of 3.0 to 3.3.1 gives observations no type."""
_INPUTS: Final = "langfuse.observation.metadata.inputs"
"""The arguments of a tool of LangChain's, whose input is their repr."""
_UNTYPED: Final = ("span", None)  # Langfuse's own default
_LANGCHAIN_AGENT: Final = "langfuse.observation.metadata.lc_agent_name"
_INTEGRATION: Final = "langfuse.observation.metadata.ls_integration"
_NODE: Final = "langfuse.observation.metadata.langgraph_node"
_TAGS: Final = "langfuse.observation.metadata.tags"
_HIDDEN: Final = "langsmith:hidden"
"""The tag of LangGraph's own steps: those of a node, and the functions that choose the next (`route_to_active_agent`)."""
_HOOKS: Final = (".before_agent", ".after_agent")
_TOLD_IN_JS: Final = re.compile(r'(?<="additional_kwargs":\{\},)"role":("(?:[^"\\]|\\.){1,256}"\})')
"""How LangChain's message of a result ends under the SDK for JavaScript: with its tool as the role, and without an id."""
_NAMELESS_IN_JS: Final = '"additional_kwargs":{}}'
"""How it ends where the application did not name the tool."""
_OFFERED: Final = "langfuse.observation.metadata.tools"
_ITEMS: Final = re.compile(r'\[?\{"(?:id|type)": ?"')
"""How an answer of OpenAI's Responses begins that was recorded whole."""
_CONVERSATION_IDS: Final = (
    semconv.SESSION_ID, "langfuse.session.id", "langfuse.trace.metadata.thread_id", "langfuse.trace.metadata.session_id",
)  # fmt: skip


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the observation by its type; a chain with the name of LangChain's agent is that agent's run."""
    kind = span.attributes.get(_TYPE)
    if kind == "tool" and _text(span, _COMPONENT_TYPE) == "ToolInvoker":
        return _read_tools_of_haystack(span)
    if kind == "tool" or (kind in _UNTYPED and _is_tool(span)):
        return _read_tool(span)
    if kind == "generation":
        return _read_model(span)
    is_agent = (kind == "agent" and not _is_hook(span)) or _text(span, _LANGCHAIN_AGENT) == span.name
    if is_agent or not span.parent_span_id:
        return _read_context(span, Role.AGENT if is_agent else Role.OTHER)
    is_inner = is_graph(_text(span, _INTEGRATION), _text(span, _NODE))
    return inner_graph(_read_context(span, Role.OTHER)) if is_inner else IGNORED


def _is_hook(span: Span) -> bool:
    """Whether the observation is a hook of LangChain's middleware, or a step of LangGraph, which are typed by their names."""
    if _HIDDEN in str(span.attributes.get(_TAGS)):
        return True
    return span.name.endswith(_HOOKS) and _text(span, _NODE) == span.name


def _is_tool(span: Span) -> bool:
    """Whether an observation without a type is a tool's: by its name, or by what LangChain says of its tools alone."""
    if _COLOR in span.attributes:
        return True
    tool = _text(span, _TOOL_NAME)
    return tool_in_span_name(span.name)[0] if tool is None else is_named_after(span.name, tool)


def _text(span: Span, key: str) -> str | None:
    return name_of(parse_any(span.attributes.get(key)))  # metadata is JSON, plain strings too


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = (
        first_name(span.attributes, semconv.TOOL_NAMES)
        or _text(span, _TOOL_NAME)
        or _text(span, _HAYSTACK_TOOL)
        or name_of(tool_in_span_name(span.name)[1])
        or name_of(span.name)
    )
    genai_span.call_id = _text(span, _CALL_ID)
    given = (get(_INPUTS) if _COLOR in span.attributes else None) or get(_INPUT)
    genai_span.arguments = UNREADABLE if is_summary(parse_any(given)) else keyword_arguments(given)
    _read_level(genai_span, span)
    if is_true(parse_any(get(_HAYSTACK_ERROR))):
        genai_span.status = "error"
    elif genai_span.status == "unset" and (flagged := flagged_failure(get(_OUTPUT))) is not None:
        genai_span.status, genai_span.refusal = "error", flagged.refusal
    # The level of a tool of LangGraph that waits for a human is that of a success, or for JavaScript of an error.
    genai_span.is_pending = genai_span.is_pending or is_interrupt(str(get(_STATUS_MESSAGE)))
    genai_span.agent = _text(span, _LANGCHAIN_AGENT)
    return genai_span


def _read_tools_of_haystack(span: Span) -> GenAISpan:
    """Reads the component inside which all calls of a turn run (Haystack 2.x): typed as a tool, and none of them."""
    genai_span = genai_span_of(span, Role.GROUP, NAME)
    genai_span.history = exchange_of_haystack(span.attributes.get(_OUTPUT))
    return genai_span


def _read_level(genai_span: GenAISpan, span: Span) -> None:
    """Read a failure from the observation's level: before 3.6 the span of one that failed has no status."""
    if span.attributes.get(_LEVEL) == "ERROR":
        genai_span.status = "error"


def _read_model(span: Span) -> GenAISpan:
    given = _messages(span.attributes.get(_INPUT))
    genai_span = model_span_of(span, NAME, span.attributes.get(_OUTPUT), given)
    _read_level(genai_span, span)
    if genai_span.output is not None:  # its wrapper of OpenAI's client records the tools
        compare_with_offered(genai_span, tools_in_request(given))
    if _may_lack_hosted(span):
        genai_span.note(extent=genai_span.tracing.extent or "hosted")
    genai_span.agent = _text(span, _LANGCHAIN_AGENT)
    node = _text(span, _NODE)
    note_node(genai_span, node, _text(span, _INTEGRATION))
    if genai_span.agent is not None and node in MODEL_NODES:
        genai_span.note(traced_calls="all")  # that of the agent does not tell what it is
    return genai_span


def _may_lack_hosted(span: Span) -> bool:
    """Whether an answer is a text that may have come after calls which OpenAI ran itself: `observeOpenAI` for JavaScript (5.11)
    leaves out all that is beside a text.
    """
    answer = span.attributes.get(_OUTPUT)
    is_text = type(answer) is str and _ITEMS.match(answer) is None
    return is_text and offers_hosted(span.attributes.get(_OFFERED))


def _messages(text: object) -> object:
    """Returns messages as the observation has them, those that hold results with the role of a tool."""
    if type(text) is not str:
        return text
    text = _TOLD_IN_JS.sub(r'"role":"tool","name":\1', text)
    return text.replace(_NAMELESS_IN_JS, '"additional_kwargs":{},"role":"tool"}')


def _read_context(span: Span, role: Role) -> GenAISpan:
    conversation_id = next((text for key in _CONVERSATION_IDS if (text := _text(span, key))), None)
    genai_span = context_span_of(span, role, NAME, span.attributes.get(_INPUT), conversation_id)
    genai_span.name = genai_span.agent = name_of(span.name)
    _read_level(genai_span, span)
    if role is Role.AGENT and _text(span, _NODE) == span.name != _text(span, _LANGCHAIN_AGENT):
        genai_span.note(identity="node")  # typed for the word "agent" in its name
    note_graph(genai_span, span, _text(span, _INTEGRATION), _messages(span.attributes.get(_OUTPUT)))
    genai_span.is_pending = genai_span.is_pending or is_interrupt(str(span.attributes.get(_STATUS_MESSAGE)))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(b"langfuse.observation.type",),
    attributes=frozenset({
        _INPUT, _OUTPUT, _LEVEL, _STATUS_MESSAGE, _CALL_ID, _COLOR, _INPUTS, _TOOL_NAME, _HAYSTACK_TOOL, _HAYSTACK_ERROR,
        _COMPONENT_TYPE, _LANGCHAIN_AGENT, _INTEGRATION, _NODE, _TAGS, _OFFERED, *_CONVERSATION_IDS, *semconv.TOOL_NAMES,
        semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
