"""Reads requests to models, and the one span of all turns that some frameworks have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from collector.dialects.openinference import agno
from collector.dialects.openinference.common import (
    AGENT_FRAMEWORK,
    AGENTS_JS,
    HIDDEN,
    LANGCHAIN,
    METADATA,
    NAME,
)
from collector.model import semconv
from collector.model.from_span import model_span_of, note_approvals, note_code
from collector.model.genai_span import IGNORED, GenAISpan
from collector.model.graphs import note_node
from collector.model.span import Span
from collector.model.tracing import Extent
from collector.payloads import langchain
from collector.payloads.cut_values import is_cut
from collector.payloads.flattened_attributes import flattened_calls, flattened_messages
from collector.payloads.gemini_parts import left_calls, may_hold_provided, provided_calls, with_provided_calls
from collector.payloads.offered_tools import names_tool_to_call, offers_hosted
from collector.payloads.reprs import parse_message
from collector.payloads.text_calls import NEXT_TOOL, asks_langroid, requests_action
from collector.payloads.values import MAX_TEXT, find_text, name_of, parse_any

_ANSWER: Final = "llm.output_messages."
_TEXT: Final = "llm.output_messages.0.message.content"
_ANSWERED: Final = "llm.output_messages.0.message.role"
_CONVERSATION: Final = "llm.input_messages."
_OF_LOOP: Final = "message.tool_calls."
_PARAMETERS: Final = "llm.invocation_parameters"
_REASON: Final = "llm.finish_reason"
_AUTOMATIC: Final = "automatic_function_calling_history"
_AUTOMATIC_CALLS: Final = re.compile(rf'"{_AUTOMATIC}": ?\[(?=\{{)')
"""In the output of google-genai, which calls tools and its model again until none is requested."""
_GIVEN: Final = '"function_call"'
"""In an input that holds earlier calls; the user's words after them have no role in its history."""
_BEGINNING: Final = 64
"""How much of its history tells where it begins anew: a stream has it once for each turn, one after the other."""
_ANTHROPIC: Final = (
    "openinference.instrumentation.anthropic", "@arizeai/openinference-instrumentation-anthropic", LANGCHAIN,
)  # fmt: skip
_BY_PROVIDER: Final = re.compile(r'"type": ?"(?:(?:server|mcp)_tool_use|\w{1,40}_tool_result)"')
"""In their answers with what the provider ran; attributes hold such calls like those that the model asked for."""
_HOSTED: Final = re.compile(r'"type": "(?:\w{1,40}_tool_call"|tool_call", "id": "srvtoolu_)')
"""Likewise in the conventions' messages of Microsoft's Agent Framework (0.1.13)."""
_RESPONSE: Final = re.compile(r'"object": ?"response"')
_RUN_BY_OPENAI: Final = re.compile(
    r'"type": ?"(?:mcp|web_search|file_search|code_interpreter|image_generation|(?:local_)?shell|apply_patch)_call"'
)
"""Likewise in an answer of the Responses API; attributes name the search of the web after its type, and leave out others, also
those that the application may run: commands, patches."""
_CALLS_IN_OUTPUT: Final = ('"toolCalls":[{', NEXT_TOOL)
"""In outputs that hold calls in the framework's own form alone: Mastra 0.x, DSPy."""
_BEEAI, _FINAL = "@arizeai/openinference-instrumentation-beeai", "final_answer"
"""BeeAI for JavaScript (0.1), likewise. An agent gives its answer as the arguments of this: no tool that ran."""
_CALLS_IN_TEXT: Final = re.compile(r"(?:\A|\n)Tool calls: (?=\[\{)")
"""NeMo Agent Toolkit, before the repr of an answer's calls. It loses later requests, so what came of them is not known."""
_DSPY: Final = "openinference.instrumentation.dspy"
_CALLS_IN_FIELD: Final = re.compile(r"\[\[ ## \w{1,100} ## \]\]\n(\{\"tool_calls\": \[\{[^\n]*\})(?:\n|\Z)")
"""DSPy: a field of an answer whose type is `ToolCalls` (3.x)."""
_LITELLM: Final = "openinference.instrumentation.litellm"
_HOSTED_OF_LITELLM: Final = re.compile(r'"\\"McpCall\(|"name": "(?:web_search|file_search)_call"')
"""In outputs of the Responses API (0.1.51): a call of MCP is the repr of an object, and a search is named after its type."""
_SEARCHES: Final = ("web_search_call", "file_search_call")
_CALLS_OF_CLIENT: Final = re.compile(r'"tool_calls": \[(?:\{|"ChatCompletionMessageToolCall\()')
"""DSPy (3.4), where calls are functions to its client: all that is recorded of them, in reprs for chat completions."""
_GOOGLE: Final = "openinference.instrumentation.google_genai"
_SAYING_NO_REASON: Final = (_GOOGLE, "openinference.instrumentation.ollama")
"""Scopes of models that give the same reason to end whether they ask for functions or not: Gemini's and Ollama's."""
_WITHOUT_EMPTY: Final = (LANGCHAIN, _GOOGLE)
"""Scopes that leave out the arguments of a requested call if there are none."""
_INVALID: Final = re.compile(r'"invalid_tool_calls": ?\[\{')
"""LangChain: its answer has calls whose arguments are no JSON. It runs none of these, and no attribute has them."""
_TO_INVALID: Final[tuple[str | int, ...]] = ("generations", 0, 0, "message", "kwargs", "invalid_tool_calls")
_OF_GO: Final = ("openai.chat.completions.create", "anthropic.messages.create")
"""Names of the spans of OpenInference for Go, whose input is what the user said last: messages have attributes of their own."""
_SENT_BACK: Final = re.compile(
    r'"langgraph_node":\s*"model(?:_request)?",\s*"langgraph_triggers":\s*\["__pregel_push"\]'
)
"""Of a request of LangChain's agents that a hook after one before it sent back to the model, as for a human's "no" (1.5). If it
is the first of a run, that one was in an earlier trace."""
_STRANDS: Final = "strands"  # how the scopes of its own spans begin
_ADK_SCOPE, _ADK_AGENT = "gcp.vertex.agent", "invoke_agent "
"""The span on which it writes all requests of a run of ADK 2.13, one over the other: the calls of several answers are mixed,
and the last input and output are whole."""

_OPENAI, _PAGES = "openinference.instrumentation.openai", ("SyncPage[", "AsyncPage[")
"""How the names begin of what it records like a request to a model (0.1.66): a list, as of the models that there are."""

PREFIXES: Final = (_ANSWER, _OF_LOOP)
OUTPUTS: Final = (_ANSWER, semconv.OUTPUT_VALUE)
_OF_PYDANTIC_AI: Final = "model_request_parameters"
"""The definitions as Pydantic AI writes them, beside those of the processor for it: these alone tell the form of an output."""
TOOL_DEFINITIONS: Final = (_OF_PYDANTIC_AI, "llm.tools.", _PARAMETERS)
"""How keys begin of what is read of a request beside what other spans have: messages, the answer, and tools."""


def read_model(span: Span) -> GenAISpan | None:
    """Reads a request to a model; None if it is to be read again with all its attributes."""
    get = span.attributes.get
    if span.scope.name == _OPENAI and span.name.startswith(_PAGES):
        return IGNORED
    recorded = _told_and_answered(span)
    if recorded is None:
        return None
    given, output = recorded
    if span.scope.name == _ADK_SCOPE and span.name.startswith(_ADK_AGENT):
        return _read_requests_of_adk(span, output)
    calls: object = _hosted_calls(span) or _calls_in_answer(span.attributes, output, span.scope.name)
    if calls is None:
        calls = _calls_elsewhere(span, output)
    genai_span = model_span_of(span, NAME, calls, given)
    # An answer without calls is in `output.value` alone. It was captured all the same.
    genai_span.has_output = genai_span.has_output or (bool(output) and output != HIDDEN)
    _correct_finish(genai_span, span, asks=calls is not None)
    if calls is not output:
        note_approvals(genai_span, output, None)
    if calls is None:
        _read_words(genai_span, span, given, output)
    metadata = get(METADATA)
    genai_span.agent = find_text(langchain.AGENT, metadata)
    note_node(genai_span, find_text(langchain.NODE, metadata), find_text(langchain.INTEGRATION, metadata))
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    is_lost = span.name in _OF_GO and not (genai_span.has_output or genai_span.finish)  # a stream
    is_hidden = output == HIDDEN and not genai_span.has_output and offers_hosted(get(_PARAMETERS))
    is_hidden |= type(output) is str and _lacks_hosted(output)
    extent: Extent = "some" if is_lost else "hosted" if is_hidden else ""
    genai_span.note(outcome="hooked" if genai_span.scope.startswith(_STRANDS) else "", extent=extent)
    if not extent and type(metadata) is str and _SENT_BACK.search(metadata, 0, MAX_TEXT) is not None:
        genai_span.note(extent="resumed")
    if type(output) is str and _AUTOMATIC in output and len(output) <= MAX_TEXT:
        _read_loop(genai_span, span, output)
    elif span.scope.name == _GOOGLE and any(key.startswith(_OF_LOOP) for key in span.attributes):
        # What tells the turns of these calls was not recorded, or is too long to be read.
        genai_span.note(extent="turns")
    elif span.scope.name == agno.SCOPE:
        agno.note_unmarked_failures(genai_span, span)
    return genai_span


def _lacks_hosted(output: str) -> bool:
    """Whether an answer was cut that holds what its provider ran."""
    if not is_cut(output):
        return False
    return may_hold_provided(output) or any(
        words.search(output) for words in (_BY_PROVIDER, _RUN_BY_OPENAI, _HOSTED_OF_LITELLM)
    )


def _correct_finish(genai_span: GenAISpan, span: Span, *, asks: bool) -> None:
    """Sets why the answer ended where that is recorded otherwise, or means something else, for one that ``asks`` for calls."""
    if asks and names_tool_to_call(span.attributes.get(_PARAMETERS)):
        genai_span.finish = "other"  # as OpenAI has it
    elif asks and span.scope.name == AGENTS_JS and span.attributes.get(_REASON) == "stop":
        genai_span.finish = "tool_calls"
    if not genai_span.has_output and span.scope.name in _SAYING_NO_REASON:
        genai_span.finish = ""


def _read_words(genai_span: GenAISpan, span: Span, given: object, output: object) -> None:
    """Reads what an answer asks for in words, or that it asks for calls which cannot be read."""
    asks = _CALLS_OF_CLIENT if span.scope.name == _DSPY else _CALLS_IN_TEXT
    if requests_action(output) or (type(output) is str and asks.search(output) is not None):
        genai_span.output, genai_span.finish = span.attributes.get(_TEXT), "tool_calls"
    elif asks_langroid(output, given):
        genai_span.finish = "tool_calls"
    else:
        note_code(genai_span, output, given)


def _told_and_answered(span: Span) -> tuple[object, object] | None:
    """Returns what a request was told, and its answer; None if it is to be read again with all its attributes."""
    given, output = span.attributes.get(semconv.INPUT_VALUE), span.attributes.get(semconv.OUTPUT_VALUE)
    if span.name in _OF_GO:
        if not span.is_whole:
            return None
        messages = [_result_or_message(one) for one in flattened_messages(span.attributes, _CONVERSATION)]
        return messages or given, output
    # Written by hand: instrumentations have both.
    if given is None and output is None and (_ANSWERED in span.attributes or _TEXT in span.attributes):
        if not span.is_whole and span.parent_span_id and semconv.OPERATION_NAME not in span.attributes:
            return None
        return flattened_messages(span.attributes, _CONVERSATION), span.attributes.get(_TEXT)
    return given, output


def _result_or_message(message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message of a conversation. One of the user's without a text holds results, where Anthropic's have no more."""
    return {"role": "tool"} if message == {"role": "user"} else message


def _calls_elsewhere(span: Span, output: object) -> object:
    """Returns the calls of an answer that only its text, or what the framework made of it, tells; None if there are none."""
    if type(output) is str and any(marker in output for marker in _CALLS_IN_OUTPUT):
        return output
    if span.scope.name == agno.SCOPE:
        return agno.calls_in_output(output)
    if span.scope.name == _DSPY:
        return _calls_of_dspy(span.attributes.get(_TEXT), output)
    return _calls_of_beeai(output) if span.scope.name == _BEEAI else None


def _calls_of_beeai(output: object) -> object:
    """Returns the calls in the messages of an answer; None if there are none but that which ends the run."""
    messages = parse_any(output)
    contents = [one.get("content") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict)]
    return [part for part in parts if part.get("type") == "tool-call" and part.get("toolName") != _FINAL] or None


def _calls_of_dspy(text: object, output: object) -> object:
    """Returns the calls in a field of the text of an answer, or in what the client returned."""
    field = None if type(text) is not str else _CALLS_IN_FIELD.search(text, 0, MAX_TEXT)
    if field is not None:
        return field[1]
    if type(output) is not str or _CALLS_OF_CLIENT.search(output, 0, MAX_TEXT) is None:
        return None
    answers = parse_any(output)
    lists = [one.get("tool_calls") for one in answers if isinstance(one, Mapping)] if isinstance(answers, list) else []
    written = [one for calls in lists if isinstance(calls, list) for one in calls]
    read = [parse_message(one) if type(one) is str else one for one in written]
    calls = [call for call in read if isinstance(call, Mapping)]
    return calls if calls and len(calls) == len(read) else None


def _hosted_calls(span: Span) -> str | None:
    """Returns the answer of a model that holds what its provider ran, which the processor for Microsoft's framework leaves out;
    None if it holds nothing of that.
    """
    answer = span.attributes.get(semconv.OUTPUT_MESSAGES) if span.scope.name == AGENT_FRAMEWORK else None
    return answer if type(answer) is str and _HOSTED.search(answer, 0, MAX_TEXT) is not None else None


def _calls_in_answer(attributes: Mapping[str, Any], output: object, scope: str) -> str | list[dict[str, Any]] | None:
    """Returns the calls that an answer asked for, beside what its provider ran; None if there are none."""
    if is_cut(output):
        return flattened_calls(attributes)
    if (
        scope in _ANTHROPIC
        and type(output) is str
        and _BY_PROVIDER.search(output) is not None
        and len(output) <= MAX_TEXT
    ):
        return output
    if type(output) is str and _RUN_BY_OPENAI.search(output) and _RESPONSE.search(output) and len(output) <= MAX_TEXT:
        return output
    if scope == _LITELLM and type(output) is str and _HOSTED_OF_LITELLM.search(output, 0, MAX_TEXT) is not None:
        return _answer_of_litellm(output)
    calls = flattened_calls(attributes)
    if calls is not None and scope in _WITHOUT_EMPTY and output:
        for call in calls:
            call.setdefault("arguments", "")
    if scope == LANGCHAIN and type(output) is str and _INVALID.search(output, 0, MAX_TEXT) is not None:
        return [*(calls or ()), *_invalid_calls(output, calls or ())] or None
    if type(output) is str and may_hold_provided(output):
        return [*provided_calls(output), *(calls or ())] or None
    return calls


def _answer_of_litellm(output: str) -> list[dict[str, Any]] | None:
    """Returns the messages of an answer with calls that the provider ran as OpenAI writes them."""
    messages = parse_any(output)
    answer: list[dict[str, Any]] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        content, calls = message.get("content"), message.get("tool_calls")
        call = calls[0] if isinstance(calls, list) and len(calls) == 1 and isinstance(calls[0], dict) else {}
        function = call.get("function")
        kind = name_of(function.get("name")) if isinstance(function, dict) else None
        if kind in _SEARCHES:
            answer.append({"type": kind, "id": call.get("id"), "status": "completed"})
        else:
            answer.append(message if type(content) is not str else message | {"content": parse_any(content)})
    return answer or None


def _invalid_calls(output: str, calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the calls of LangChain's answer whose arguments are no JSON, without those that are among ``calls``: old
    releases keep there what the provider wrote.
    """
    node: object = parse_any(output)
    for step in _TO_INVALID:
        if isinstance(step, int):
            node = node[step] if isinstance(node, list) and node else None
        else:
            node = node.get(step) if isinstance(node, dict) else None
    known = {call.get("id") for call in calls}
    invalid = node if isinstance(node, list) else []
    return [call for call in invalid if isinstance(call, dict) and call.get("id") not in known]


def _read_loop(genai_span: GenAISpan, span: Span, output: str) -> None:
    """Reads the one span of all turns: the history in its output has them and their results, its answer what it left to others.

    The history begins with what the loop was given, which may hold calls that were made before.
    """
    begun = _AUTOMATIC_CALLS.search(output)
    if begun is None:
        return
    given = genai_span.history
    genai_span.note(extent="memory" if type(given) is str and _GIVEN in given else "loop")
    beginning = output[begun.end() : begun.end() + _BEGINNING]
    history = f'{{"{_AUTOMATIC}":[' + output[output.rindex(beginning) :]
    genai_span.history = with_provided_calls(history)
    answer = {key: value for key, value in span.attributes.items() if key.startswith(_ANSWER)}
    is_streamed = not any(key.startswith(_OF_LOOP) for key in span.attributes)
    genai_span.output = (
        left_calls(output, history) if is_streamed else _calls_in_answer(answer, output, span.scope.name)
    )


def _read_requests_of_adk(span: Span, output: object) -> GenAISpan:
    given = span.attributes.get(semconv.INPUT_VALUE)
    genai_span = model_span_of(span, NAME, output, given)
    genai_span.conversation_id = name_of(span.attributes.get(semconv.SESSION_ID))
    if type(given) is str and len(given) <= MAX_TEXT:
        genai_span.history = given
        asked = flattened_calls({key: value for key, value in span.attributes.items() if key.startswith(_ANSWER)})
        is_unasked = asked is None and not span.lacks_attributes and output != HIDDEN
        genai_span.note(extent="memory", outcome="unasked" if is_unasked else "")
    return genai_span
