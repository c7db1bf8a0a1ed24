"""Reads requests to a model, wherever a release of the conventions or a tracer that follows them puts the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from collector.dialects.otel_genai import microsoft
from collector.dialects.otel_genai.span_events import messages_in_events
from collector.dialects.otel_genai.tool_call import STRANDS, name_strands
from collector.model import semconv
from collector.model.from_span import ANTHROPIC_SDK, model_span_of
from collector.model.genai_span import CONVENTIONS, GenAISpan
from collector.model.span import Span
from collector.payloads.history import calls_in_history
from collector.payloads.messages import tool_call_parts
from collector.payloads.offered_tools import offers_hosted
from collector.payloads.run_steps import START, STATUS, run_steps
from collector.payloads.values import MAX_TEXT, first_value, name_of, parse_any, parse_json

_CALLS_ALONE: Final = ("gen_ai.response.tool_calls", "gen_ai.tool_calls")
"""Keys of the calls of an answer that has no messages: Sentry's, and the one of tracers of one's own."""
_JOINT: Final = ", "
_SENTRY_TEXT: Final = "gen_ai.response.text"
_SENTRY_ORIGIN, _SENTRY_LANGCHAIN = "sentry.origin", "auto.ai.langchain"
"""Of a request of LangChain's for JavaScript, where calls leave no spans. What the model is told of them has neither their ids
nor which failed, and middleware of an agent, which is named, may have answered in place of a tool.
"""
_THREAD: Final = "gen_ai.thread.id"
_ANTHROPIC: Final = (
    "@traceloop/instrumentation-anthropic", "opentelemetry.instrumentation.anthropic",
    "opentelemetry.instrumentation.genai.anthropic",
)  # fmt: skip
"""Anthropic's clients tell a failure by a flag, for which the conventions' messages have no place."""
_ENVOY: Final = "envoyproxy/ai-gateway"
"""Envoy AI Gateway (1.1): in the conventions' words it leaves out all that calls returned of requests to Anthropic's API."""
_ASKED: Final = "tool_use"
"""The reason for which an answer of that ended that asks for calls."""
_GOOGLE_OFFICIAL: Final = "opentelemetry.instrumentation.google_genai"
"""It joins all answers of a stream in which google-genai calls functions itself (1.3b0); each of these leaves a span."""
_GOOGLE: Final = "opentelemetry.instrumentation.google_generativeai"
"""OpenLLMetry (0.62) has one span for all turns in which google-genai calls functions itself, with the last answer alone."""
_GOOGLE_JS: Final = "@traceloop/instrumentation-google-generativeai"
"""OpenLLMetry for JavaScript (0.27) likewise. It writes tools as the client has them: those that it calls itself are objects
(`CallableTool`) with none of these words of Google's.
"""
_OFFERED_TO_GOOGLE: Final = frozenset({
    "functionDeclarations", "retrieval", "googleSearch", "googleSearchRetrieval", "enterpriseWebSearch", "googleMaps",
    "urlContext", "computerUse", "codeExecution", "fileSearch", "mcpServers", "parallelAiSearch",
})  # fmt: skip
_ALL_TURNS_OF_GOOGLE: Final = (_GOOGLE, _GOOGLE_JS)
_OF_GOOGLE: Final = (_GOOGLE_OFFICIAL, *_ALL_TURNS_OF_GOOGLE)
_EMPTY: Final = re.compile(
    r"""\[\{"type": ?"text", ?"content": ?"(?:[^"]{0,400}\bfunction_call=None[^"]{0,400}\btext='' [^"]{0,400})?"\}\]"""
)
"""And so an empty text: the last chunk of a stream, of which it keeps no other."""
_RAN_IN_WORDS: Final = re.compile(r'"content": ?"outcome=<Outcome\.|\btool_call=ToolCall\(')
"""It writes what the provider ran as a text: Python's repr of the part."""
_ANTHROPIC_OPENLLMETRY: Final = "opentelemetry.instrumentation.anthropic"
"""It leaves out of an answer what the provider ran meanwhile (0.62), and of its tools all but the name: MCP's have none."""
_RUN_BY_CLIENT: Final = frozenset({"bash", "computer", "memory", "str_replace_based_edit_tool", "str_replace_editor"})
"""Anthropic's tools that the application runs: an answer that asks for them is recorded."""
_LANGCHAIN: Final = "opentelemetry.instrumentation.langchain"
_LANGCHAIN_AGENT: Final = "traceloop.association.properties.lc_agent_name"
_LANGCHAIN_CALL: Final = '"type": "tool_call"'
"""OpenLLMetry (0.62) writes each call of an answer that LangChain could parse: its agents run no others."""
_OPENLIT_OPENAI: Final = "openlit.instrumentation.openai"
"""Of an answer of the Responses API that was not streamed it keeps the last call before the first message, or this alone;
of what the model is told next it keeps no call and no result (1.45)."""
_OPENLIT_OPENAI_JS: Final = "@openlit/instrumentation-openai"
"""For JavaScript (1.15) it keeps of such an answer the text alone, streamed or not, and of the next input likewise."""
_OPENAI_OPENLLMETRY: Final = "opentelemetry.instrumentation.openai.v1"
"""Of an answer of the Responses API it leaves out what it does not know (0.62): calls of MCP and requests to approve them,
commands, patches. If there is nothing else, no message is left."""
_OPENAI_OFFICIAL: Final = "opentelemetry.instrumentation.genai.openai"
_LISTED, _PARTS = '"name":"mcp_list_tools"', ('"type":"text"', '"type":"tool_call"')
"""OpenTelemetry's (1.3b0) leaves out the approval for which an answer asks, but not the tools among which it chose."""
_COMMANDS: Final = re.compile(r'"type":"(?:(?:local_)?shell|apply_patch)"')
"""Tools of OpenAI's whose calls it leaves out, whoever runs them."""
_API: Final = "openai.api.type"
_STREAMED: Final = "gen_ai.request.stream"
_SPRING_TOOLS: Final = "spring.ai.model.request.tool.names"
"""Of a request of Spring AI that offers tools. One that streams (1.x) goes on, inside its span, with the request that tells the
results of the calls it asked for, and has the reason for which that one ended. Spans of the calls are in traces of their own
unless Reactor propagates the context (`spring.reactor.context-propagation: auto`), which it does not by default."""
_RETURNED: Final = "returnDirect"
"""The reason for which it ended if what a tool returned is the answer."""
_ITERATION: Final = "tanstack.ai.iteration"
"""Of TanStack AI (0.58): its span of a request ends when the next begins, and its answer alone asked for the calls inside."""
_LLAMA_INDEX: Final = "@traceloop/instrumentation-llamaindex"
"""OpenLLMetry (0.27) has the text of LlamaIndex.TS's answers and never their calls. The reason for which one ended tells of
these, but that is read where OpenAI's last chunk has it: not with the usage of tokens behind it, nor of other providers."""
_OPENAI_JS: Final = "@traceloop/instrumentation-openai"
"""Of the Responses API (0.27) it has the input, a list, as the JSON text of one message of the user, and of an answer the text
alone: that is empty where it asks for calls. The reason for which it ended is the same then."""
_OF_RESPONSES: Final = "resp_"
_EMPTY_TEXT: Final = '"parts":[{"type":"text","content":""}]}]'
_LANGCHAIN_JS: Final = "@traceloop/instrumentation-langchain"
"""Each of its spans is a trace of its own unless a span is around all of a run (0.27): a request without content, too."""
_LANGTRACE: Final = "@langtrase/typescript-sdk"
"""Of an answer that begins with a text it has that alone (6.3), and of Anthropic's and of streams no calls at all: one without
a text asked for some."""
_SAYS_NOTHING: Final = re.compile(r'\[\{"role": ?"assistant"(?:, ?"content": ?(?:""|null))?\}\]')
_LOGFIRE_OPENAI, _LOGFIRE_ANTHROPIC = "logfire.openai", "logfire.anthropic"
"""Of an answer of OpenAI's the conventions' messages lack what the provider ran (5.4). With those of before (`version=1`) an
answer of Anthropic's that was streamed is its text alone."""
_MIRASCOPE: Final = "mirascope.llm"
"""It tells a model the bare words of what a tool raised, and writes them like a result (2.x)."""
_BETA: Final = "anthropic.beta"
_HOSTED: Final = re.compile(r"\b(?:mcp-client|code-execution|skills|advisor-tool)-\d")
"""Features whose tools Anthropic runs before it answers; its client tells which ones a request used (2.14). Others that it runs
are no longer asked for so, such as its search."""
_PYDANTIC_AI, _OFFERED, _UNAPPROVED = "pydantic-ai", "model_request_parameters", '"kind":"unapproved"'
"""A request that offers a tool which needs an approval (2.6x): a handler may deny it in its own words, and the run goes on."""
_ASKED_SERVER: Final = re.compile(r'"name":"mcp_server:[^"]{0,256}","builtin":true\}')
"""Pydantic AI without content: a server of MCP that the provider asked, perhaps only which tools it has."""
_NO_FINISH, _NO_ARGUMENTS, _LOST = '"finish_reason":""', '"arguments":{}', '"arguments":null'
ATTRIBUTES: Final = (
    semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.RESPONSE_ID, *_CALLS_ALONE, _SENTRY_TEXT, _THREAD, STATUS, START,
    _API, _STREAMED, _SPRING_TOOLS, _ITERATION, _LANGCHAIN_AGENT, _OFFERED, _SENTRY_ORIGIN, _BETA,
)  # fmt: skip
"""What is read of a request beside what all spans have."""


def read_model(span: Span) -> GenAISpan:
    """Reads a request to a model."""
    attributes = span.attributes
    output, messages = _recorded_messages(span)
    if output is None:
        output = _joined_calls(attributes) or _answer_in_parts(attributes)
    is_anthropic = span.scope.name in _ANTHROPIC
    genai_span = model_span_of(span, CONVENTIONS, _without_lost(output) if is_anthropic else output, messages)
    microsoft.read_request(genai_span, messages)
    name_strands(genai_span, span)
    is_lossy = is_anthropic or span.scope.name == _MIRASCOPE or span.scope.name.startswith(ANTHROPIC_SDK)
    is_lossy = is_lossy or (span.scope.name == _ENVOY and _ASKED in str(attributes.get(semconv.FINISH_REASONS[0])))
    genai_span.note(outcome="lossy" if is_lossy else "hooked" if genai_span.scope.startswith(STRANDS) else "")
    if _ITERATION in attributes:
        genai_span.note(extent="around")
    elif _SPRING_TOOLS in attributes:
        genai_span.note(extent="nested")
        if _RETURNED in str(attributes.get(semconv.FINISH_REASONS[0])):
            genai_span.finish = "tool_calls"
    _correct_finish(genai_span, output, attributes)
    if _asks_for_none(genai_span, output, attributes):
        genai_span.output, genai_span.finish = None, "other"
    if _may_hide_calls(genai_span, output, attributes):
        genai_span.finish = "tool_calls"
    elif (
        genai_span.scope in _ALL_TURNS_OF_GOOGLE
        and genai_span.output is not None
        and _ran_functions(genai_span, attributes)
    ):
        genai_span.note(extent="turns")
    elif _may_lack_calls(genai_span, output, attributes):
        _note_lost_calls(genai_span)
    elif _may_lack_hosted(genai_span, attributes):
        genai_span.note(extent="hosted")
    elif span.scope.name == _LANGCHAIN_JS and not (span.parent_span_id or genai_span.has_output):
        genai_span.note(extent="step")
    genai_span.response_id = name_of(attributes.get(semconv.RESPONSE_ID))
    genai_span.agent = name_of(attributes.get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(attributes.get(semconv.CONVERSATION_ID))
    _note_answered(genai_span, attributes)
    return genai_span


def _correct_finish(genai_span: GenAISpan, output: object, attributes: Mapping[str, Any]) -> None:
    if genai_span.scope in _OF_GOOGLE:
        _read_google(genai_span, output, attributes)
    elif not genai_span.has_output and _is_of_responses(genai_span.scope, attributes):
        genai_span.finish = ""


def _read_google(genai_span: GenAISpan, output: object, attributes: Mapping[str, Any]) -> None:
    """Correct what was read of an answer of Google's client, which may have called functions inside the span."""
    if genai_span.scope == _GOOGLE_OFFICIAL and genai_span.output is not None:
        reasons = first_value(attributes, semconv.FINISH_REASONS)
        is_joined = isinstance(reasons, (list, tuple)) and len(reasons) > 1
        ends = ends_with_call(output)
        if is_joined and ends is False:
            genai_span.output = None  # several answers, each of which ended for a reason
        elif not is_joined and ends:
            genai_span.note(extent="left")
    if not genai_span.has_output:
        genai_span.finish = ""  # Gemini gives the same reason whether it asks for functions or not


def _note_answered(model: GenAISpan, attributes: Mapping[str, Any]) -> None:
    """Note that a result may be told in any words, or be that of what answers in place of a tool."""
    if model.scope == _PYDANTIC_AI and _UNAPPROVED in str(attributes.get(_OFFERED)):
        model.note(outcome="hooked")
    if attributes.get(_SENTRY_ORIGIN) != _SENTRY_LANGCHAIN:
        return
    if model.agent is None:
        model.note(outcome="lossy")
    else:
        model.note(outcome="hooked", identity="node")


def _asks_for_none(model: GenAISpan, output: object, attributes: Mapping[str, Any]) -> bool:
    """Whether an answer asks for no call, where the reason for which it ended is not told, or something else."""
    if model.tracing.outcome == "hooked":  # Strands has the reason in an event, beside the whole answer
        return model.has_output and model.output is None
    return model.scope == _LANGCHAIN and _LANGCHAIN_AGENT in attributes and _has_no_call_of_langchain(output)


def _recorded_messages(span: Span) -> tuple[object, object]:
    """Returns the answer of a model, and what it was given."""
    output, messages = span.attributes.get(semconv.OUTPUT_MESSAGES), span.attributes.get(semconv.INPUT_MESSAGES)
    if span.events:
        output, messages = messages_in_events(span.events, output, messages)
    return output, _written_as_text(messages) if span.scope.name == _OPENAI_JS else messages


def _has_no_call_of_langchain(output: object) -> bool:
    """Whether an answer is there and holds no call: arguments that are no JSON leave but the reason for which it ended."""
    return type(output) is str and output.endswith("}]") and '"parts": [' in output and _LANGCHAIN_CALL not in output


def _written_as_text(messages: object) -> object:
    """Returns the messages that the only part of the only message holds as JSON; what was given if it holds none."""
    given = parse_any(messages)
    parts = (
        given[0].get("parts") if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict) else None
    )
    part = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
    text = part.get("content") if isinstance(part, dict) else None
    return text if type(text) is str and text[:2] == "[{" else messages


def _may_lack_calls(model: GenAISpan, output: object, attributes: Mapping[str, Any]) -> bool:
    """Whether a part of the answer was recorded, and perhaps not what it asked for."""
    if model.scope == _OPENLIT_OPENAI:
        return attributes.get(_API) == "responses" and attributes.get(_STREAMED) is False
    if model.scope == _OPENLIT_OPENAI_JS:
        return attributes.get(_API) == "responses" and _offers_tools(attributes)
    if model.scope == _LLAMA_INDEX:
        return not model.finish
    if model.scope == _OPENAI_OPENLLMETRY:
        return output == "[]"
    if model.scope == _OPENAI_OFFICIAL:
        return _has_listing_alone(output)
    if model.scope == _OPENAI_JS:
        return _is_of_responses(model.scope, attributes) and type(output) is str and output.endswith(_EMPTY_TEXT)
    if model.scope == _LANGTRACE:
        return type(output) is str and _SAYS_NOTHING.fullmatch(output) is not None
    return model.scope == _GOOGLE and type(output) is str and _EMPTY.search(output) is not None


def _is_of_responses(scope: str, attributes: Mapping[str, Any]) -> bool:
    """Whether OpenLLMetry for JavaScript recorded an answer of the Responses API."""
    return scope == _OPENAI_JS and str(attributes.get(semconv.RESPONSE_ID)).startswith(_OF_RESPONSES)


def _offers_tools(attributes: Mapping[str, Any]) -> bool:
    """Whether OpenLIT records that tools are offered: how they are defined, or without content their names."""
    return bool(attributes.get(semconv.TOOL_DEFINITIONS) or attributes.get(semconv.TOOL_NAME))


def _may_lack_hosted(model: GenAISpan, attributes: Mapping[str, Any]) -> bool:
    """Whether the record of an answer leaves out what the provider ran, and tools are offered that it runs: Logfire's;
    OpenLLMetry's of Anthropic, and of LangChain, which has at most their names (0.62), and none without content; and that
    of Anthropic's client, and Pydantic AI's of MCP, without content; and OpenTelemetry's of OpenAI's commands.
    """
    if model.scope == _OPENAI_OFFICIAL:
        return _COMMANDS.search(str(attributes.get(semconv.TOOL_DEFINITIONS)), 0, MAX_TEXT) is not None
    if model.scope == _PYDANTIC_AI:
        return _ASKED_SERVER.search(str(attributes.get(semconv.OUTPUT_MESSAGES)), 0, MAX_TEXT) is not None
    if model.scope.startswith(ANTHROPIC_SDK):
        return not model.has_output and _HOSTED.search(str(attributes.get(_BETA))) is not None
    if model.scope == _ANTHROPIC_OPENLLMETRY:
        return _offers_hosted_by_name(attributes)
    if model.scope == _LANGCHAIN:
        if model.has_output:
            return _offers_hosted_by_name(attributes)
        return any(name is None for name in _names_alone(attributes))
    is_older = model.scope == _LOGFIRE_ANTHROPIC and semconv.INPUT_MESSAGES not in attributes
    return (model.scope == _LOGFIRE_OPENAI or is_older) and offers_hosted(attributes.get(semconv.TOOL_DEFINITIONS))


def _has_listing_alone(output: object) -> bool:
    if type(output) is not str or _LISTED not in output or any(part in output for part in _PARTS):
        return False
    return output.count('"type":"server_tool_call"') == output.count(_LISTED)


def _note_lost_calls(model: GenAISpan) -> None:
    """Note that its answer may have asked for calls that were not recorded: a text for any, a call for some before it."""
    if model.scope == _GOOGLE:
        model.output = None  # an empty text alone
    model.note(extent="some")
    model.finish = "" if model.output is None else "tool_calls"
    model.has_output = model.output is not None


def ends_with_call(output: object) -> bool | None:
    """Returns whether the last part of the only message of an answer is a call; None if there is no such part."""
    messages = parse_any(output)
    only = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    parts = only.get("parts") if isinstance(only, dict) else None
    return bool(tool_call_parts(parts[-1:])) if isinstance(parts, list) and parts else None


def _may_hide_calls(model: GenAISpan, output: object, attributes: Mapping[str, Any]) -> bool:
    """Whether calls may be left out of an answer: of functions that Google's client was given, unless the input tells of a
    call of them, or of tools that Anthropic runs. What Google runs is there in words alone.
    """
    if model.scope not in (_GOOGLE, _GOOGLE_JS, _ANTHROPIC_OPENLLMETRY):
        return False
    if model.scope == _GOOGLE and type(output) is str and _RAN_IN_WORDS.search(output) is not None:
        return True
    if model.output is not None:
        return False
    if model.scope == _ANTHROPIC_OPENLLMETRY:
        return _offers_hosted_by_name(attributes)
    return _ran_functions(model, attributes)


def _offers_hosted_by_name(attributes: Mapping[str, Any]) -> bool:
    """Whether tools that Anthropic, or another provider, runs are offered, of which OpenLLMetry has but the name."""
    return any(name not in _RUN_BY_CLIENT for name in _names_alone(attributes))


def _ran_functions(model: GenAISpan, attributes: Mapping[str, Any]) -> bool:
    """Whether Google's client was given functions, and may have called them before the answer that was recorded: nothing in
    the input tells that the application does."""
    if model.scope == _GOOGLE_JS:
        are_functions = any(_OFFERED_TO_GOOGLE.isdisjoint(one) for one in _offered(attributes))
    else:
        are_functions = bool(_names_alone(attributes))
    return are_functions and not calls_in_history(model.history)


def _names_alone(attributes: Mapping[str, Any]) -> list[str | None]:
    """Returns the names of the offered tools of which nothing else was recorded."""
    return [name_of(one["name"]) for one in _offered(attributes) if one.keys() == {"name"}]


def _offered(attributes: Mapping[str, Any]) -> list[dict[Any, Any]]:
    offered = parse_any(attributes.get(semconv.TOOL_DEFINITIONS))
    return [one for one in offered if isinstance(one, dict)] if isinstance(offered, list) else []


def _without_lost(output: object) -> object:
    """Returns an answer in which no call has arguments that are not its own.

    OpenLLMetry for JavaScript (0.27) gives each call of a stream an empty object, and the answer no reason why it ended.
    """
    return output.replace(_NO_ARGUMENTS, _LOST) if type(output) is str and _NO_FINISH in output else output


def read_steps(span: Span) -> GenAISpan:
    """Reads the list of what a run in the service did (azure-ai-agents): all turns at once, and no request."""
    steps = run_steps(((event.name, event.attributes) for event in span.events), semconv.EVENT_BODY)
    genai_span = model_span_of(span, CONVENTIONS, None, steps.messages)
    genai_span.user_input = None
    if not steps.is_whole:
        genai_span.finish, genai_span.history = "tool_calls", None
    elif steps.messages:
        genai_span.note(extent="memory")
    genai_span.has_output = steps.is_whole
    genai_span.conversation_id = name_of(span.attributes.get(_THREAD))
    return genai_span


def _joined_calls(attributes: Mapping[str, Any]) -> object:
    """Returns the calls of an answer that are in the attributes of a tool's span, one after the other (openlit 1.7)."""
    names, ids, arguments = (
        attributes.get(key) for key in (semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS)
    )
    if type(names) is not str or type(ids) is not str or type(arguments) is not str:
        return None
    each = (names.split(_JOINT), ids.split(_JOINT), parse_json(f"[{arguments}]") or ())
    if len({len(parts) for parts in each}) > 1:
        return None
    return [
        {"type": "tool_call", "name": name, "id": call_id, "arguments": given}
        for name, call_id, given in zip(*each, strict=True)
    ]


def _answer_in_parts(attributes: Mapping[str, Any]) -> object:
    """Returns a model's answer where its calls are in an attribute of their own and its text in another, as Sentry has it."""
    calls = parse_any(first_value(attributes, _CALLS_ALONE))
    if calls is None or isinstance(calls, (bool, int, float)):  # some write how many there are
        return attributes.get(_SENTRY_TEXT)
    if not isinstance(calls, (list, tuple)):
        return {"tool_calls": calls}
    return {"tool_calls": _without_raw([parse_any(call) for call in calls])}


def _without_raw(calls: Sequence[object]) -> Sequence[object]:
    """Returns the calls of an answer without those that are there once more, as they came: Sentry has each call of a stream
    of Google's models so, and with a type (10.78)."""
    typed = [call for call in calls if isinstance(call, dict) and call.get("type") == "function"]
    raw = [call for call in calls if isinstance(call, dict) and "args" in call and "type" not in call]
    is_twice = 0 < len(raw) <= len(typed) == len(calls) - len(raw)
    return typed if is_twice and {call.get("name") for call in raw} <= {call.get("name") for call in typed} else calls
