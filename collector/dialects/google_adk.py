"""Google's Agent Development Kit, Python 1.x to 2.13 and JavaScript, where it departs from the GenAI conventions.

Its own attributes hold requests, responses, arguments and results; a tool that failed may leave a span with nothing but
a name. Everything else it writes is OpenTelemetry GenAI.
"""

from __future__ import annotations

import json
import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import (
    compare_with_offered,
    context_span_of,
    doubt_failure,
    doubt_outcome,
    genai_span_of,
    model_span_of,
)
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.offered_tools import definitions_behind
from collector.payloads.pauses import ENDS_RUN_OF_ADK, LONG_RUNNING, waits_for_confirmation
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.tool_results import tool_result
from collector.payloads.values import known_name_of, name_of, parse_any

NAME: Final = "google_adk"

_SCOPE: Final = "gcp.vertex.agent"
_PREFIX: Final = "gcp.vertex.agent."
_ARGUMENTS: Final = _PREFIX + "tool_call_args"
_RESULT: Final = _PREFIX + "tool_response"
_REQUEST: Final = _PREFIX + "llm_request"
_RESPONSE: Final = _PREFIX + "llm_response"
_SESSION: Final = _PREFIX + "session_id"
_CALL_ID: Final = "gen_ai.tool_call.id"  # Java

_TOOL_SPAN: Final = "execute_tool "
_MERGED: Final = "(merged"  # a turn with parallel calls adds a span for all of their results
_UNKNOWN_TOOL: Final = "Tool not found"  # describes what 2.x records in place of a tool that does not exist
_AGENT_SPAN: Final = re.compile(r"agent_run \[(.+)\]$")  # 1.x; the name is recorded nowhere else
_TOOLS: Final = re.compile(r'"tools": ?(?=\[\{"function(?:_d|D)eclarations": ?\[)')
_EMPTY: Final = ("{}", '""', "")
_MISFIT: Final = re.compile(r'validating root: validating /properties/([\w-]{1,100}): type: (.{0,400}?) has type "')
"""What has a value that does not fit a schema in Go: arguments, or what the tool returned. Which lacks one tells nothing."""
_AGENT_TOOL: Final = "AgentTool"
_RETURNS_AT_ONCE: Final = (LONG_RUNNING, _AGENT_TOOL)
"""Types of tools that run without a confirmation. After the first ADK waits, and after the second if it is told to."""
_TYPE: Final = "gen_ai.tool.type"
_JAVASCRIPT, _JAVA = "nodejs", "java"
"""Of a process whose callbacks and plugins answer before the span of a call begins, in place of the tool, and whose requests
last until the calls have ended that their answers asked for; of one that asks the model again while a call waits for a
human, whose answer begins another run."""
_WAIT_UNSAID: Final = ("go", "python")
"""In which nothing but the end of a run tells that a call waits whose tool asked for a confirmation itself."""
_TOLD_FAILURE: Final = "TOOL_ERROR"
"""The type of an error that the result tells: the tool's answer, or ADK's own refusal of arguments."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name if its attributes do not; None leaves it to the GenAI conventions."""
    if span.name.startswith(_TOOL_SPAN):
        return IGNORED if span.name.startswith(_MERGED, len(_TOOL_SPAN)) else _read_tool(span)
    if span.name == "call_llm" and span.attributes.get(_RESPONSE) is not None:
        return _read_model(span)
    agent = _AGENT_SPAN.match(span.name)
    return None if agent is None else _read_agent(span, agent[1])


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name.removeprefix(_TOOL_SPAN))
    genai_span.call_id = known_name_of(get(semconv.TOOL_CALL_ID)) or known_name_of(get(_CALL_ID))
    arguments, result = get(_ARGUMENTS), get(_RESULT)
    if arguments is not None and not (arguments in _EMPTY and result in _EMPTY):  # both empty: not recorded
        genai_span.arguments = None if arguments == "N/A" else arguments
    genai_span.refusal = _settled(genai_span.refusal, span, arguments)
    answer = result if result not in (None, *_EMPTY) else get(semconv.TOOL_CALL_RESULT)
    told = tool_result(None, answer)
    outcome = told.status(genai_span.name)
    if semconv.OPERATION_NAME not in span.attributes:  # for JavaScript, of arguments that do not fit as well
        genai_span.status = "error"
        if span.status == 0:
            doubt_failure(genai_span)
    elif outcome not in ("ok", "open"):
        genai_span.status, genai_span.refusal = "error", genai_span.refusal or told.refusal
        _read_wait(genai_span, answer)
    elif outcome == "open":
        doubt_outcome(genai_span)
    if get(semconv.TOOL_DESCRIPTION) == _UNKNOWN_TOOL:
        genai_span.status, genai_span.refusal = "error", Refusal()
    if (
        genai_span.error_type == _TOLD_FAILURE
        and result in (None, *_EMPTY)
        and semconv.TOOL_CALL_RESULT not in span.attributes
    ):
        doubt_failure(genai_span)
    if genai_span.refusal is None and may_be_blocked(answer):
        genai_span.refusal = Refusal(is_sure=False)
    is_silent = genai_span.arguments is None and answer in (None, *_EMPTY) and genai_span.status != "error"
    if is_silent and genai_span.name not in ENDS_RUN_OF_ADK:
        # Nothing says that it waits for a human's confirmation, but that the model is not asked again.
        genai_span.is_pending = get(_TYPE) not in _RETURNS_AT_ONCE
        # What a tool raises ends the run, or a callback answers for it and the span is that of a success. Of a failure that the
        # tool answers itself, 2.13 records that there is an `error`, and not the status that ADK's documentation asks for.
        doubt_outcome(genai_span)
    if get(_TYPE) == LONG_RUNNING or _may_wait_unsaid(genai_span):
        genai_span.note(extent="apart")
    return genai_span


def _settled(refusal: Refusal | None, span: Span, arguments: object) -> Refusal | None:
    """Returns what the error of a call says of whether its tool began, as far as its arguments and its type bear that out."""
    if refusal is not None and refusal.is_of_arguments and _tells_of(span.status_message, arguments):
        return Refusal()
    is_agent = (
        span.attributes.get(_TYPE) == _AGENT_TOOL
        and span.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) == _JAVA
    )
    if refusal == Refusal() and is_agent:
        return Refusal(is_sure=False)  # it may be of a call inside the agent
    return refusal


def _may_wait_unsaid(call: GenAISpan) -> bool:
    """Whether it may wait if it ends the run: one that asks for a confirmation answers in words of its own, and of one that
    waits for its result nothing is said."""
    is_unsaid = call.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) in _WAIT_UNSAID
    return is_unsaid and call.status == "unset" and call.name not in ENDS_RUN_OF_ADK


def _read_wait(call: GenAISpan, answer: object) -> None:
    """Note of a call whether it waits for a human, and where the run goes on meanwhile."""
    call.is_pending = call.is_pending or waits_for_confirmation(answer)
    if call.is_pending and call.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) == _JAVA:
        call.note(extent="apart")


def _tells_of(message: str, arguments: object) -> bool:
    """Whether a message about a value that does not fit a schema tells of these arguments: they have it."""
    misfit = _MISFIT.match(message)
    given = None if misfit is None else parse_any(arguments)
    if misfit is None or not isinstance(given, dict) or misfit[1] not in given:
        return False
    value = given[misfit[1]]
    return misfit[2] == (value if type(value) is str else json.dumps(value))


def _read_agent(span: Span, name: str) -> GenAISpan:
    genai_span = context_span_of(span, Role.AGENT, NAME, conversation_id=name_of(span.attributes.get(_SESSION)))
    genai_span.note(traced_calls="all")
    genai_span.name = name_of(name)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    request, response = get(_REQUEST), get(_RESPONSE)
    genai_span = model_span_of(
        span, NAME, None if response in _EMPTY else response, None if request in _EMPTY else request
    )
    if genai_span.output is not None:
        compare_with_offered(genai_span, definitions_behind(_TOOLS, request))
    genai_span.agent = name_of(get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(get(_SESSION))
    if genai_span.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) == _JAVASCRIPT:
        genai_span.note(outcome="hooked", extent="around")
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({
        _ARGUMENTS, _RESULT, _REQUEST, _RESPONSE, _SESSION, _CALL_ID, _TYPE, semconv.AGENT_NAME, semconv.OPERATION_NAME,
        semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_RESULT, semconv.TOOL_DESCRIPTION, semconv.ERROR_TYPE,
    }),
    output_attributes=(_RESPONSE,),
    request_attributes=(_REQUEST,),
)  # fmt: skip
