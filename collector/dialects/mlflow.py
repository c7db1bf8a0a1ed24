"""MLflow Tracing exported over OTLP (mlflow 2.14+): every attribute is JSON, even plain strings (``"\\"TOOL\\""``).

With ``MLFLOW_ENABLE_OTEL_GENAI_SEMCONV`` it follows the GenAI conventions, and only what these lack is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import (
    context_span_of,
    genai_span_of,
    model_span_of,
    set_answer_of_openai_agents,
    set_output,
)
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import inner_graph, is_graph, note_graph, note_node
from collector.model.span import Span
from collector.payloads import langchain
from collector.payloads.messages import tool_call_parts
from collector.payloads.pydantic_ai_messages import answer_of_pydantic_ai, conversation_of_pydantic_ai
from collector.payloads.told_failures import failure_in_message, failure_of_crewai
from collector.payloads.values import UNREADABLE, find_text, first_name, name_of, parse_any

NAME: Final = "mlflow"

_SCOPE: Final = "mlflow.tracing.provider"
_TYPE: Final = "mlflow.spanType"
_INPUT: Final = "mlflow.spanInputs"
_OUTPUT: Final = "mlflow.spanOutputs"
_FUNCTION: Final = "mlflow.spanFunctionName"
_CALL_ID: Final = "tool_call_id"
_PREPARES: Final = "._prepare_chat_with_tools"
"""Ends the name of the span in which LlamaIndex puts a request together: a model's by its type, and the messages its output."""
_FORMAT: Final = "mlflow.message.format"
_AUTOGEN: Final = "autogen"
_PYDANTIC_AI: Final = "pydantic_ai"
_ANSWERS: Final = '"deferred_tool_results": {'
_WAITING: Final = re.compile(r'\{"output": \{"calls": \[(?:\{|\], "approvals": \[\{)')
"""Begins what a run of Pydantic AI gives back that ended with calls for the application, or for a human to approve."""
_METADATA: Final = "metadata"
_TOOL_NAME: Final = "name"
"""Likewise of an agent, where smolagents has named it."""
_RUNNER: Final = "mlflow.openai.agent_run_root"
"""On the span of OpenAI Agents' runner, around those of its agents."""
_RUN: Final = "AgentRunner.run"
"""Its name, which in the words of the conventions is all that tells it from an agent."""
_OPENAI_AGENTS: Final = "openai-agents"
_NOTHING: Final = "null"
_OF_OTHERS: Final = (_FUNCTION, _METADATA)
"""On the spans of tools of functions, and of LangChain's."""
_NAMES_OF_OTHERS: Final = (semconv.AGENT_NAME, "haystack.component.name")
_DSPY: Final = "Tool."
"""Begins the name of the span of a call of DSPy, before that of its tool."""
_OF_CLASS: Final = (".__call__", ".call", ".acall")
"""End the name of a span that names the class of its tool, and not the tool: smolagents, LlamaIndex."""
_CHUNK: Final = "mlflow.chunk.value"
_CHUNK_EVENT: Final = "mlflow.chunk.item."
"""Begins the names of the events that hold the chunks of a streamed answer, before their numbers."""
_PIECES: Final = '"tool_calls": ['
_MAX_CHUNKS: Final = 128  # so many events an SDK keeps of a span, the last ones
_STREAM: Final = re.compile(r'"?<[\w.]{1,200} object at 0x[0-9a-f]+>"?')
"""In place of an answer: the repr of a stream that was not read for it (Anthropic's client, with `stream=True`)."""
_CREWAI: Final = '{"agent_action": {'


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``mlflow.spanType``; a chain with the name of LangChain's agent is that agent's run."""
    if _TYPE not in span.attributes:
        return _read_conventional(span)
    if span.attributes[_TYPE] == _NOTHING:
        return IGNORED  # another tracer's span, of which MLflow says nothing
    kind = _text(span, _TYPE)
    if kind == "TOOL":
        return _read_tool(span)
    if kind in ("CHAT_MODEL", "LLM"):
        return IGNORED if span.name.endswith(_PREPARES) else _read_model(span)
    # What OpenAI Agents' runner does inside a call is beside the agent that it runs there.
    is_agent = kind == "AGENT" and _RUNNER not in span.attributes
    metadata = span.attributes.get(_METADATA)
    is_agent = is_agent or find_text(langchain.AGENT, metadata) == span.name
    if is_agent or not span.parent_span_id:
        return _read_context(span, Role.AGENT if is_agent else Role.OTHER)
    is_inner = is_graph(find_text(langchain.INTEGRATION, metadata), find_text(langchain.NODE, metadata))
    return inner_graph(_read_context(span, Role.OTHER)) if is_inner else IGNORED


def _read_conventional(span: Span) -> GenAISpan | None:
    """Reads what the conventions leave out: the calls of a streamed answer, and that OpenAI Agents' runner is no agent. None
    leaves all else to them.
    """
    if span.attributes.get(semconv.AGENT_NAME) == _RUN:
        return IGNORED if span.parent_span_id else _read_runner(span)
    if not any(event.name.startswith(_CHUNK_EVENT) for event in span.events[:1]):
        return None
    get = span.attributes.get
    genai_span = model_span_of(span, NAME, get(semconv.OUTPUT_MESSAGES), get(semconv.INPUT_MESSAGES))
    _read_chunks(genai_span, span)
    return genai_span


def _read_runner(span: Span) -> GenAISpan:
    """Reads the span around agents as one of a run that goes on: it makes calls itself only where a human approved them."""
    runner = context_span_of(span, Role.OTHER, NAME)
    runner.note(extent="resumed")
    return runner


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
    _read_crewai(genai_span, span)
    if genai_span.status != "error" and (told := failure_in_message(span.attributes.get(_OUTPUT))) is not None:
        genai_span.status, genai_span.refusal = "error", told.refusal
    if genai_span.status != "error" and _INPUT in span.attributes and _OUTPUT not in span.attributes:
        # It writes `null` for what returns nothing, and ends well the span of a function that was cancelled.
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    elif span.attributes.keys().isdisjoint(_OF_OTHERS):
        _read_result_of_openai_agents(genai_span, span)
    genai_span.agent = find_text(langchain.AGENT, span.attributes.get(_METADATA))
    return genai_span


def _read_result_of_openai_agents(genai_span: GenAISpan, span: Span) -> None:
    """Reads what the span of a call of OpenAI Agents does not say, which ends well: that it waits for an approval (as one does
    whose tool returns nothing), that it timed out, or that a guardrail may have answered in its place.
    """
    output = span.attributes.get(_OUTPUT)
    genai_span.is_pending = genai_span.is_pending or output == _NOTHING
    told = name_of(parse_any(output)) if type(output) is str and output[:1] == '"' else None
    if told is not None and genai_span.status != "error":
        set_answer_of_openai_agents(genai_span, told, _OPENAI_AGENTS)


def _read_crewai(genai_span: GenAISpan, span: Span) -> None:
    """Reads a call of CrewAI's agents that ask in words (1.x): the input is what the model said, the result what it is told."""
    given = span.attributes.get(_INPUT)
    if type(given) is not str or not given.startswith(_CREWAI):
        return
    record = parse_any(given)
    action = record.get("agent_action") if isinstance(record, Mapping) else None
    genai_span.arguments = action.get("tool_input") if isinstance(action, Mapping) else UNREADABLE
    returned = parse_any(span.attributes.get(_OUTPUT))
    told = failure_of_crewai(returned.get("result")) if isinstance(returned, Mapping) else None
    if told is not None:
        genai_span.status, genai_span.refusal = "error", told.refusal


def _arguments_of_method(given: object) -> object:
    """Returns what a tool was called with: a method that takes anything has it in its `kwargs`."""
    record = parse_any(given)
    is_named = isinstance(record, Mapping) and record.keys() <= {"args", "kwargs"} and not record.get("args")
    return record.get("kwargs", {}) if is_named else given


def _read_model(span: Span) -> GenAISpan:
    output, given = span.attributes.get(_OUTPUT), span.attributes.get(_INPUT)
    if type(output) is str and _STREAM.fullmatch(output) is not None:
        output = None
    if _text(span, _FORMAT) == _AUTOGEN:
        output, given = _answer_of_autogen(output), _messages_of_autogen(given)
    elif _text(span, _FORMAT) == _PYDANTIC_AI:
        output, given = answer_of_pydantic_ai(output), conversation_of_pydantic_ai(given)
    genai_span = model_span_of(span, NAME, output, given)
    _read_chunks(genai_span, span)
    metadata = span.attributes.get(_METADATA)
    genai_span.agent = find_text(langchain.AGENT, metadata)
    note_node(genai_span, find_text(langchain.NODE, metadata), find_text(langchain.INTEGRATION, metadata))
    return genai_span


def _answer_of_autogen(output: object) -> object:
    """Returns the calls of an answer, which has nothing that says that they are calls; else the answer."""
    answer = parse_any(output)
    content = answer.get("content") if isinstance(answer, Mapping) else None
    return output if not isinstance(content, list) else [_call_of_autogen(call) for call in content]


def _call_of_autogen(call: object) -> object:
    return {**call, "type": "tool_call"} if isinstance(call, Mapping) else call


def _messages_of_autogen(given: object) -> object:
    """Returns the messages of a request in the words of OpenAI's: AutoGen tells their roles by the names of classes."""
    record = parse_any(given)
    messages = record.get("messages") if isinstance(record, Mapping) else None
    if not isinstance(messages, list):
        return given
    return [told for one in messages if isinstance(one, Mapping) for told in _message_of_autogen(one)]


def _message_of_autogen(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind, content = message.get("type"), message.get("content")
    if kind == "FunctionExecutionResultMessage":
        results = content if isinstance(content, list) else []
        return [
            {**one, "role": "tool", "tool_call_id": one.get("call_id")} for one in results if isinstance(one, Mapping)
        ]
    if kind == "AssistantMessage" and isinstance(content, list):
        return [{"role": "assistant", "tool_calls": [_call_of_autogen(call) for call in content]}]
    # What another agent of a team said comes as the user's, too.
    is_user = kind == "UserMessage" and message.get("source") in (None, "user")
    return [
        {"role": "assistant" if kind == "AssistantMessage" else "user" if is_user else "system", "content": content}
    ]


def _read_chunks(genai_span: GenAISpan, span: Span) -> None:
    """Read the calls of a streamed answer of OpenAI's from its chunks: MLflow puts together its text alone (3.17)."""
    texts = [event.attributes.get(_CHUNK) for event in span.events[:_MAX_CHUNKS] if event.name.startswith(_CHUNK_EVENT)]
    if not any(type(text) is str and _PIECES in text for text in texts) or tool_call_parts(genai_span.output):
        return
    calls: dict[object, dict[str, str]] = {}
    for piece in chain.from_iterable(map(_pieces, texts)):
        call = calls.setdefault(piece.get("index"), {"type": "tool_call", "arguments": ""})
        function = piece.get("function")
        given = function if isinstance(function, Mapping) else {}
        call["arguments"] += str(given.get("arguments") or "")
        for key, value in (("id", piece.get("id")), ("name", given.get("name"))):
            if type(value) is str:
                call[key] = value
    genai_span.finish = "tool_calls"
    if span.events[0].name == f"{_CHUNK_EVENT}0" and all("name" in call for call in calls.values()):
        set_output(genai_span, list(calls.values()))


def _pieces(text: object) -> list[Mapping[str, Any]]:
    """Returns the pieces of calls in one chunk of a streamed answer."""
    chunk = parse_any(text) if type(text) is str and _PIECES in text else None
    choices = chunk.get("choices") if isinstance(chunk, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = choice.get("delta") if isinstance(choice, Mapping) else None
    pieces = delta.get("tool_calls") if isinstance(delta, Mapping) else None
    return [piece for piece in pieces if isinstance(piece, Mapping)] if isinstance(pieces, list) else []


def _read_context(span: Span, role: Role) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, role, NAME, get(_INPUT), find_text(langchain.THREAD, get(_METADATA)))
    # MLflow adds to the spans of other tracers as well: Strands', and Haystack's.
    named = _text(span, _TOOL_NAME) if role is Role.AGENT else None
    named = named or first_name(span.attributes, _NAMES_OF_OTHERS)
    genai_span.name = genai_span.agent = named or name_of(span.name)
    note_graph(genai_span, span, find_text(langchain.INTEGRATION, get(_METADATA)), get(_OUTPUT))
    if _text(span, _FORMAT) == _PYDANTIC_AI:
        _read_pauses(genai_span, get(_INPUT), get(_OUTPUT))
    return genai_span


def _read_pauses(genai_span: GenAISpan, given: object, output: object) -> None:
    """Read whether a run of Pydantic AI ended with calls for a human, or the application, and began with their answers."""
    if type(given) is str and _ANSWERS in given:
        genai_span.note(extent="resumed")
    genai_span.is_pending = type(output) is str and _WAITING.match(output) is not None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE,),
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"mlflow.spanType",),
    attributes=frozenset({
        _INPUT, _OUTPUT, _FUNCTION, _CALL_ID, _TOOL_NAME, _METADATA, _FORMAT, _CHUNK, _RUNNER, *semconv.TOOL_NAMES,
        semconv.ERROR_TYPE, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, *_NAMES_OF_OTHERS,
    }),
    output_attributes=(_OUTPUT,),
    tool_definition_attributes=("mlflow.chat.tools",),
)  # fmt: skip
