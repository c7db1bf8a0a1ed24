"""OpenLIT where it departs from the GenAI conventions (openlit 1.3x, 1.4x): decorated functions, nodes of LangGraph graphs,
handoffs between agents of OpenAI's SDK (JavaScript), and before 1.36 the calls that a model asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import (
    MAX_EVENTS,
    OPENLIT_GRAPHS,
    OPENLIT_GRAPHS_JS,
    context_span_of,
    doubt_failure,
    genai_span_of,
    model_span_of,
    note_agent_of_claude,
)
from collector.model.genai_span import CONVENTIONS, IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.model.tracing import Extent
from collector.payloads.refusals import Refusal
from collector.payloads.values import MAX_TEXT, name_of, parse_json

NAME: Final = "openlit"

_FUNCTIONS_SCOPE: Final = "openlit"
_MODEL_SCOPE: Final = "openlit.otel.tracing"
_FLOW_SCOPE: Final = "openlit.instrumentation.crewai"
_AGENTS_SCOPE: Final = "@openlit/instrumentation-openai-agents"
_CLAUDE_SCOPE: Final = "@openlit/instrumentation-claude-agent-sdk"
"""For JavaScript (1.15). Of a call that failed it has the words alone, be they a tool's or of who denied it; what an agent
returned that a call started is lost; and what that agent called is beside the call."""
_EXIT_CODE: Final = "Exit code "
_IN_FOREGROUND: Final = '"run_in_background":false'
_LANGCHAIN_SCOPE: Final = "@openlit/instrumentation-langchain"
_GOOGLE_SCOPE: Final = "openlit.instrumentation.google_ai_studio"
_OLLAMA_SCOPE: Final = "openlit.instrumentation.ollama"
_KEEPING_ONE: Final = ("@openlit/instrumentation-google-ai", "@openlit/instrumentation-vertexai")
"""For JavaScript (1.15): scopes that keep one call of each answer, and of what a model is told next no call and no result."""
_KEEPING_LAST: Final = ("@openlit/instrumentation-anthropic", "@openlit/instrumentation-ollama", _OLLAMA_SCOPE)
"""Scopes that keep of the calls of a stream those of its last piece (JavaScript 1.15, Python 1.45)."""
_OTHERS_LOST: Final = ({"role": "assistant"},)
"""In place of an answer of which the last calls alone are left: not nothing, which the conventions' reading would fill."""
_SMOLAGENTS_SCOPE: Final = "openlit.instrumentation.smolagents"
_STEP: Final = "gen_ai.smolagents.step_number"
_PLANNING: Final = "gen_ai.smolagents.planning"
_HAYSTACK_SCOPE: Final = "openlit.instrumentation.haystack"
_COMPONENT: Final = "gen_ai.framework.component.type"
_UNFINISHED: Final = (("execute_tool ", Role.TOOL), ("invoke_agent ", Role.AGENT))
"""Begin the names of the spans of smolagents, which are all that one tells that ended with an exception."""
_MISFIT: Final = "AgentToolCallError"
"""What smolagents raises for arguments that do not fit, before the tool begins."""
_SYSTEM: Final = "gen_ai.system"
_AG2_SCOPE: Final = "openlit.instrumentation.ag2"
_MESSAGE_TYPE: Final = "gen_ai.agent.message_type"
_HANDED_OVER_BY: Final = "gen_ai.agent.source"
_AGNO: Final = "agno"
_CALL: Final = "tool "
"""Begins the names of the spans of Agno's calls: steps, as others are."""
_PARAMETERS: Final = "gen_ai.tool.parameters"
_ARGS: Final = "function.args"
_KWARGS: Final = "function.kwargs"
_NO_ARGS: Final = ("()", None)
_BEGUN: Final = ("<coroutine object ", "<async_generator object ")
"""With what an asynchronous function returned, by its span (1.45), which ends before anything of the function has run."""
_CALL_ARGS: Final = "gen_ai.tool.args"
_STAND_IN: Final = "Function called with tools"
"""What 1.33 writes in place of any answer to a request that offers tools, also of one that asks for none."""
_STREAMED: Final = "gen_ai.request.is_stream"
_STREAM: Final = "gen_ai.request.stream"
_STATUSES: Final = ("['completed']", "['incomplete']")
"""What answers of the Responses API have for the reason for which they ended (before 1.37). Of one that was not streamed the
last call before the first message was kept, or this alone."""
_ASKED: Final = "['tool_calls']"
"""What a graph has for the reason for which the last answer in its state ended, if that asked for calls."""
_JOINT: Final = ", "  # between the calls of one answer, in each of the attributes that tell of them


def read_span(span: Span) -> GenAISpan | None:
    """Reads a function below another as a tool, since nothing marks tools; one that failed has nothing but its name."""
    if (read := _READERS.get(span.scope.name)) is not None:
        return read(span)
    if span.scope.name == _FLOW_SCOPE:
        # Without a name it is a method of the flow by which CrewAI runs an agent.
        is_method = semconv.AGENT_NAME not in span.attributes
        return IGNORED if is_method and span.attributes.get(semconv.OPERATION_NAME) == "invoke_agent" else None
    if span.scope.name == _AGENTS_SCOPE:
        return IGNORED if _HANDED_OVER_BY in span.attributes else None  # a handoff; the agent's run follows
    if span.scope.name == _AG2_SCOPE and _MESSAGE_TYPE in span.attributes:
        # What an agent sends, receives or thinks of: said to be a request to a model, of which there are spans inside.
        return IGNORED if span.parent_span_id else context_span_of(span, Role.OTHER, NAME)
    if semconv.OPERATION_NAME in span.attributes:
        return _read_request(span)
    if span.scope.name != _FUNCTIONS_SCOPE:
        return None  # what its clients ask a vector database is in the scope of their requests to models
    if not span.parent_span_id:
        return context_span_of(span, Role.OTHER, NAME, span.attributes.get(_ARGS))
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name)
    if span.attributes.get(_ARGS) in _NO_ARGS:
        genai_span.arguments = span.attributes.get(_KWARGS)  # a Python repr
    returned = span.attributes.get(semconv.OUTPUT_MESSAGES)
    if type(returned) is str and returned.startswith(_BEGUN):
        genai_span.status = "unset"
        genai_span.note(outcome="begun")
    return genai_span


def _read_call_of_claude(span: Span) -> GenAISpan | None:
    get = span.attributes.get
    if get(semconv.OPERATION_NAME) != "execute_tool":
        return None
    genai_span = genai_span_of(span, Role.TOOL, CONVENTIONS)
    genai_span.name, genai_span.call_id = name_of(get(semconv.TOOL_NAME)), name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = get(semconv.TOOL_CALL_ARGUMENTS)
    # Words that begin so are those of a command that ran: no human denies in them.
    if not span.status_message.startswith(_EXIT_CODE):
        doubt_failure(genai_span)
    note_agent_of_claude(genai_span, "" if _IN_FOREGROUND in str(genai_span.arguments) else None)
    return genai_span


def _read_component(span: Span) -> GenAISpan | None:
    """Reads a component of Haystack, which is said to be the request inside. An agent in no pipeline has no span around it."""
    if _COMPONENT not in span.attributes:
        return None
    # The span of the request is inside, with all that this one tells.
    if span.parent_span_id:
        return IGNORED
    genai_span = context_span_of(span, Role.OTHER, CONVENTIONS)
    genai_span.note(extent="alone")
    return genai_span


def _read_smolagents(span: Span) -> GenAISpan | None:
    """Reads a step of an agent, which is said to be the agent itself; and what failed, of which there is only the name."""
    if _STEP in span.attributes or _PLANNING in span.attributes:
        return IGNORED
    if semconv.OPERATION_NAME in span.attributes:
        return None
    for prefix, role in _UNFINISHED:
        if span.name.startswith(prefix):
            genai_span = context_span_of(span, role, CONVENTIONS)
            genai_span.name = name_of(span.name.removeprefix(prefix))
            if span.attributes.get(semconv.ERROR_TYPE) == _MISFIT:
                genai_span.refusal = Refusal()
            return genai_span
    return None


def _read_graph(span: Span) -> GenAISpan | None:
    """Reads a run of a graph: an agent's, unless the LangChain instrumentation beside it records that (before 1.45). Middleware
    may answer in place of its tools. Its agents are only nodes. A run that ended well with calls waits for a human.
    """
    get = span.attributes.get
    operation = get(semconv.OPERATION_NAME)
    if operation != "invoke_workflow":
        return IGNORED if operation == "invoke_agent" else None
    genai_span = context_span_of(span, Role.AGENT, CONVENTIONS, None, name_of(get(semconv.CONVERSATION_ID)))
    genai_span.name = name_of(get(semconv.WORKFLOW_NAME))
    genai_span.note(identity="graph", outcome="hooked")
    genai_span.is_pending = genai_span.status != "error" and str(get(semconv.FINISH_REASONS[0])) == _ASKED
    return genai_span


def _read_chain(span: Span) -> GenAISpan | None:
    """Reads what LangChain's callbacks call an agent for its name alone: nodes of graphs, too."""
    get = span.attributes.get
    if get(semconv.OPERATION_NAME) != "invoke_agent":
        return None
    genai_span = context_span_of(span, Role.AGENT, CONVENTIONS, None, name_of(get(semconv.CONVERSATION_ID)))
    genai_span.name = name_of(get(semconv.AGENT_NAME))
    genai_span.note(identity="node")
    return genai_span


def _read_request(span: Span) -> GenAISpan | None:
    """Reads a request, or the call of a tool of Agno (1.36): a step, whose span ends well before the tool has run."""
    get = span.attributes.get
    if get(_SYSTEM) == _AGNO and span.name.startswith(_CALL) and semconv.TOOL_NAME in span.attributes:
        genai_span = genai_span_of(span, Role.TOOL, NAME)
        genai_span.name, genai_span.arguments = name_of(get(semconv.TOOL_NAME)), get(_PARAMETERS)  # a Python repr
        if genai_span.status != "error":
            genai_span.status = "unset"
            genai_span.note(outcome="words")
        return genai_span
    return _read_answer(span)


def _read_answer(span: Span) -> GenAISpan | None:
    """Reads a request of whose answer something is where only this dialect looks for it, or is missing."""
    calls = _calls_asked_for(span)
    if calls is None and any(
        event.attributes.get(semconv.COMPLETION) == _STAND_IN for event in span.events[:MAX_EVENTS]
    ):
        return _model_without_answer(span)
    if (genai_span := _read_one_of_calls(span, calls)) is not None:
        return genai_span
    extent = _extent(span)
    if extent:
        get = span.attributes.get
        answer, told = calls or get(semconv.OUTPUT_MESSAGES), get(semconv.PROMPT) or get(semconv.INPUT_MESSAGES)
        genai_span = model_span_of(span, NAME, answer, told)
        genai_span.note(extent=extent)
        genai_span.finish = "" if genai_span.output is None else "tool_calls"
        return genai_span
    return None if calls is None else model_span_of(span, NAME, calls, span.attributes.get(semconv.PROMPT))


def _read_one_of_calls(span: Span, calls: list[dict[str, object]] | None) -> GenAISpan | None:
    """Reads a request whose answer asked for calls, if openlit keeps one of them and no other."""
    get = span.attributes.get
    keeps_last = span.scope.name in _KEEPING_LAST and True in (get(_STREAM), get(_STREAMED))
    if not keeps_last and span.scope.name not in _KEEPING_ONE:
        return None
    genai_span = model_span_of(span, NAME, calls or get(semconv.OUTPUT_MESSAGES), get(semconv.INPUT_MESSAGES))
    if genai_span.output is None:
        return None
    genai_span.note(extent="some")
    genai_span.finish = "tool_calls"
    if keeps_last:
        genai_span.output = _OTHERS_LOST  # the next request tells all of them, in their order
    genai_span.response_id = name_of(get(semconv.RESPONSE_ID))
    return genai_span


def _extent(span: Span) -> Extent:
    """How much is recorded of the calls that a model asks for: perhaps not all of them, or not those that google-genai makes
    itself, asking again in the same span.
    """
    get = span.attributes.get
    is_old = span.scope.name == _MODEL_SCOPE
    system = get(_SYSTEM) if is_old else None
    if span.scope.name == _GOOGLE_SCOPE or system == "gemini":
        return "automatic"
    if system == "ollama" or (span.scope.name == _OLLAMA_SCOPE and get(_STREAM) is False):
        # None, in fact: openlit looks elsewhere for them, and the reason to end is "stop" whatever the model asks for.
        return "some"
    is_of_responses = str(get(semconv.FINISH_REASONS[0])) in _STATUSES
    return "some" if is_old and is_of_responses and get(_STREAMED) is False else ""


def _model_without_answer(span: Span) -> GenAISpan:
    prompts = (event.attributes.get(semconv.PROMPT) for event in span.events[:MAX_EVENTS])
    genai_span = model_span_of(span, NAME, None, next(filter(None, prompts), None))
    genai_span.finish = "tool_calls"  # perhaps, and then nothing tells of which
    return genai_span


def _calls_asked_for(span: Span) -> list[dict[str, object]] | None:
    """Returns the calls in a model's answer; None if there are none, or if their attributes do not go together."""
    get = span.attributes.get
    names, ids, arguments = get(semconv.TOOL_NAME), get(semconv.TOOL_CALL_ID), get(_CALL_ARGS)
    if get(semconv.OPERATION_NAME) != "chat" or not (type(names) is type(ids) is type(arguments) is str):
        return None
    parsed = parse_json(f"[{arguments}]") if len(arguments) < MAX_TEXT else None
    if type(parsed) is not list:
        return None
    calls = (names.split(_JOINT), ids.split(_JOINT), parsed)
    if not len(calls[0]) == len(calls[1]) == len(parsed):
        return None
    return [
        {"type": "tool_call", "name": name, "id": call_id, "arguments": given}
        for name, call_id, given in zip(*calls, strict=True)
    ]


_READERS: Final[Mapping[str, Callable[[Span], GenAISpan | None]]] = {
    OPENLIT_GRAPHS: _read_graph,
    OPENLIT_GRAPHS_JS: _read_graph,
    _LANGCHAIN_SCOPE: _read_chain,
    _CLAUDE_SCOPE: _read_call_of_claude,
    _HAYSTACK_SCOPE: _read_component,
    _SMOLAGENTS_SCOPE: _read_smolagents,
}
"""By scope, where spans of it need no other tests."""


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(*_READERS, _FUNCTIONS_SCOPE, _FLOW_SCOPE, _MODEL_SCOPE, _AGENTS_SCOPE, _AG2_SCOPE, _GOOGLE_SCOPE,
        *_KEEPING_ONE, *_KEEPING_LAST),
    read_span=read_span,
    attributes=frozenset({
        _ARGS, _KWARGS, _CALL_ARGS, semconv.PROMPT, semconv.AGENT_NAME, semconv.OPERATION_NAME, semconv.ERROR_TYPE,
        semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS, semconv.OUTPUT_MESSAGES, _HANDED_OVER_BY,
        semconv.FINISH_REASONS[0], _STREAMED, _STREAM, _MESSAGE_TYPE, _SYSTEM, semconv.INPUT_MESSAGES,
        semconv.RESPONSE_ID, _PARAMETERS, semconv.CONVERSATION_ID, semconv.WORKFLOW_NAME,
        _STEP, _PLANNING, _COMPONENT,
    }),
    whole_scopes=(_FUNCTIONS_SCOPE,),
)  # fmt: skip
