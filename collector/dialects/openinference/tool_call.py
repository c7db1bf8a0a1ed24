"""Reads spans of tools: the call, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.dialects.openinference import agno, dapr
from collector.dialects.openinference.common import (
    ADK,
    AGENTS_JS,
    CLAUDE,
    CLAUDE_JS,
    HIDDEN,
    METADATA,
    METHOD,
    NAME,
    TOOL_NAME,
)
from collector.model import semconv
from collector.model.from_span import (
    doubt_failure,
    doubt_outcome,
    doubt_start,
    genai_span_of,
    note_agent_of_claude,
    refuse_output_of_claude,
)
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads import langchain
from collector.payloads.messages import are_stand_ins, arguments_of_provider
from collector.payloads.pauses import ENDS_RUN_OF_ADK, LONG_RUNNING, waits_for_confirmation
from collector.payloads.refusals import (
    MAX_CHARS,
    Refusal,
    find_refusal,
    guardrail_refusal,
    may_be_blocked,
    refuses,
    settled_by_parameters,
)
from collector.payloads.span_names import is_handoff
from collector.payloads.told_failures import failure_of_crewai, flagged_failure, is_in_place_of_result
from collector.payloads.tool_arguments import arguments_of_crew, is_positional, is_schema, tool_arguments
from collector.payloads.tool_results import tool_result
from collector.payloads.values import UNREADABLE, find_text, first_name, name_of, parse_any

_TOOL_PARAMETERS: Final = "tool.parameters"
_CALL_IDS: Final = ("tool.id", "tool_call.id", "tool.call_id", "tool_call_id")
_HANDOFF: Final = "handoff_to_"
_LISTING: Final = "mcp_tools"
"""OpenAI Agents: what it asks each MCP server before a request to a model. Only the span of a call names a tool."""
_REQUESTED: Final = "tool_call.function.arguments"
"""The arguments, which Pipecat's instrumentation (2.0) has nowhere else if there are none."""
_AUTOGEN: Final = "openinference.instrumentation.autogen_agentchat"
"""It ends all spans well, also of calls whose arguments AutoGen could not parse, and tells its model so (0.7)."""
_AUTOGEN_TOOL: Final = "tool_name"
"""How it named tools first (0.1.0), on a span named after the class of the tool, whose input is that of ``run_json``."""
_UNPARSED: Final = re.compile(r"Error: [^\n]{1,200}: line \d{1,9} column \d{1,9} \(char \d{1,9}\)\Z")
_PIPECAT: Final = "openinference.instrumentation.pipecat"
"""It ends all spans well. A handler has no other way to tell a failure than its result (Pipecat 1.x)."""
CREWAI: Final = "openinference.instrumentation.crewai"
"""It ends the spans of tools well, also of one that failed (CrewAI 0.2xx) or could not reach the coworker that it names.
Where it listens to CrewAI's events (1.1, `use_event_listener`) its scope has more behind this."""
_TYPE: Final = "gen_ai.tool.type"
_TO_COWORKER: Final = ("Delegate work to coworker", "Ask question to coworker")
"""Tools of CrewAI inside which another agent works, without a span of its own (1.1)."""
_BEEAI: Final = "openinference.instrumentation.beeai"
_STARTED: Final = "start (tool."
"""Begins the event with which a tool of BeeAI starts. Where a requirement of its agent answers in its place, as it does for
what a human denied, there is none, and the span ends well."""
_LLAMA_INDEX: Final = "openinference.instrumentation.llama_index"
_DESCRIPTION: Final = "tool.description"
_OF_OUTPUT: Final = "(*args: Any, **kwargs: Any) -> ~Model\nModel function."
"""Ends the description of what LlamaIndex (0.14) offers as a tool, and is the form of an output without words of its own."""
_EXIT_CODE: Final = "Exit code "
"""Begins the words for a command of a shell that ran and failed."""
_MERGED: Final = "(merged tools)"  # Google ADK: a span for the results of parallel calls

ATTRIBUTES: Final = (TOOL_NAME, _TYPE, _DESCRIPTION, _AUTOGEN_TOOL, _TOOL_PARAMETERS, _REQUESTED, *_CALL_IDS)
"""What is read of a tool beside what other spans have."""


def read_tool(span: Span) -> GenAISpan:
    """Reads a call; IGNORED if the span is of a handoff or of something that the framework calls a tool."""
    get = span.attributes.get
    name = name_of(get(TOOL_NAME))
    # For JavaScript it gives the span of a handoff a tool's name as well.
    if is_handoff(span.name) and (name is None or name.startswith(_HANDOFF)):
        return IGNORED
    if name is None and span.name == _LISTING:
        return IGNORED
    if name is None and "[" not in span.name:  # no provider takes a tool of such a name
        name = name_of(METHOD.sub("", span.name))
    if name == _MERGED or dapr.is_batch(span):
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name
    genai_span.call_id = first_name(span.attributes, _CALL_IDS) or langchain.call_id_in(get(semconv.OUTPUT_VALUE))
    parameters = get(_TOOL_PARAMETERS)  # a schema in some instrumentors, the arguments in others
    genai_span.arguments = _arguments_of(span)
    if are_stand_ins(genai_span.arguments, genai_span.call_id):  # of Vercel's AI SDK, under the processor for it
        result = parse_any(get(semconv.OUTPUT_VALUE))
        genai_span.arguments = arguments_of_provider(result) if isinstance(result, Mapping) else None
    genai_span.is_pending = genai_span.is_pending or (
        semconv.INPUT_VALUE in span.attributes
        and semconv.OUTPUT_VALUE not in span.attributes
        and genai_span.status != "error"
    )
    if genai_span.is_pending and is_schema(parameters):
        doubt_outcome(genai_span)  # an instrumentor's or a decorator's, which records what returned; it was cancelled
    genai_span.agent = find_text(langchain.AGENT, get(METADATA))
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    _read_refusal(genai_span, get(semconv.OUTPUT_VALUE))
    # Where a call failed and nothing says why: its arguments were refused if the tool could not have taken them.
    genai_span.refusal = settled_by_parameters(genai_span.refusal, genai_span.arguments, parameters)
    were_recorded = semconv.INPUT_VALUE in span.attributes or genai_span.arguments is not None
    # OpenAI Agents for JavaScript records arguments if they fit.
    if were_recorded and span.scope.name == AGENTS_JS and genai_span.refusal is not None:
        genai_span.refusal = genai_span.refusal._replace(is_ruled_out=genai_span.refusal.is_of_arguments)
    if genai_span.status == "error" and semconv.OUTPUT_VALUE in span.attributes and not were_recorded:
        doubt_start(genai_span)
    _read_what_is_of_framework(genai_span, span)
    return genai_span


def _read_what_is_of_framework(genai_span: GenAISpan, span: Span) -> None:
    if genai_span.scope == CLAUDE:
        if not span.status_message.startswith(_EXIT_CODE):
            doubt_failure(genai_span)
        refuse_output_of_claude(genai_span)
    elif genai_span.scope == CLAUDE_JS:
        note_agent_of_claude(genai_span, span.attributes.get(semconv.OUTPUT_VALUE))
    elif genai_span.scope == _AUTOGEN:
        _read_autogen(genai_span, span)
    elif genai_span.scope == _BEEAI and genai_span.status != "error" and not _has_started(span):
        genai_span.status, genai_span.refusal = "error", Refusal()
    elif genai_span.scope == _LLAMA_INDEX and _is_form_of_output(span):
        genai_span.refusal = Refusal()
    elif genai_span.scope == dapr.SCOPE:
        dapr.read_call(genai_span, span)
    elif genai_span.scope == agno.SCOPE:
        agno.note_lost_failures(genai_span, span)
        agno.note_hidden(genai_span, span)
    elif genai_span.scope == ADK:
        _read_adk(genai_span, span)
    elif genai_span.scope == CREWAI and genai_span.name in _TO_COWORKER:
        genai_span.note(extent="asks")


def _read_adk(genai_span: GenAISpan, span: Span) -> None:
    answer = span.attributes.get(semconv.OUTPUT_VALUE)
    genai_span.is_pending = waits_for_confirmation(answer)
    # A tool that asks for a confirmation itself runs, answers what it likes, and ends the run.
    may_wait = genai_span.status != "error" and genai_span.name not in ENDS_RUN_OF_ADK
    if span.attributes.get(_TYPE) == LONG_RUNNING or may_wait:
        genai_span.note(extent="apart")
    if genai_span.refusal is None and may_be_blocked(answer):
        genai_span.refusal = Refusal(is_sure=False)


def _has_started(span: Span) -> bool:
    return span.lacks_events or any(event.name.startswith(_STARTED) for event in span.events)


def _read_autogen(genai_span: GenAISpan, span: Span) -> None:
    given = parse_any(span.attributes.get(semconv.INPUT_VALUE)) if _AUTOGEN_TOOL in span.attributes else None
    if isinstance(given, Mapping):
        genai_span.name = name_of(span.attributes[_AUTOGEN_TOOL])
        genai_span.call_id, genai_span.arguments = name_of(given.get("call_id")), given.get("args")
    if genai_span.is_pending:
        doubt_outcome(genai_span)  # it was cancelled: what ends has an output or an error


def _arguments_of(span: Span) -> object:
    get = span.attributes.get
    parameters, given = get(_TOOL_PARAMETERS), get(semconv.INPUT_VALUE)
    if given == HIDDEN:
        given = None
    arguments = tool_arguments(arguments_of_crew(given), parameters, name_of(get(TOOL_NAME)))
    if arguments is None and parameters is not None and not is_schema(parameters):
        arguments = parse_any(parameters)
    if arguments is None and span.scope.name == _PIPECAT:
        arguments = get(_REQUESTED)
    return UNREADABLE if arguments is None and is_positional(given) else arguments


def _read_refusal(genai_span: GenAISpan, output: object) -> None:
    is_told = genai_span.scope in (_PIPECAT, ADK) or is_in_place_of_result(output)
    if is_told and ((told := tool_result(None, output)).failed or is_in_place_of_result(output)):
        genai_span.status, genai_span.refusal = "error", told.refusal or genai_span.refusal
    elif is_told and told.is_open and genai_span.status == "ok":
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    elif (flagged := flagged_failure(output)) is not None:
        genai_span.status, genai_span.refusal = "error", flagged.refusal or genai_span.refusal
    elif genai_span.scope.startswith(CREWAI) and (failed := failure_of_crewai(output)) is not None:
        genai_span.status, genai_span.refusal = "error", failed.refusal
    # AutoGen's span of a tool that does not exist ends well. Only of a refusal that names the tool: the output is the tool's.
    name = genai_span.name
    if name is not None and type(output) is str and len(output) <= MAX_CHARS and name in output:
        refusal = find_refusal(output)
        if refusal is not None and refusal.tool is not None and refuses(refusal, name) == "yes":
            genai_span.status, genai_span.refusal = "error", refusal
    if genai_span.scope == _AUTOGEN and _is_unparsed(genai_span.arguments, output):
        genai_span.status, genai_span.refusal = "error", Refusal()
    if genai_span.status != "error" and genai_span.refusal is None:
        genai_span.refusal = guardrail_refusal(genai_span.scope, output)


def _is_unparsed(arguments: object, output: object) -> bool:
    """Whether the output is what Python's parser of JSON says of arguments that are no object."""
    is_told = type(output) is str and _UNPARSED.match(output) is not None
    return is_told and not isinstance(parse_any(arguments), Mapping)


def _is_form_of_output(span: Span) -> bool:
    """Whether what LlamaIndex calls a function tool makes an object of what its model answered."""
    description = span.attributes.get(_DESCRIPTION)
    return type(description) is str and description.endswith(_OF_OUTPUT)
