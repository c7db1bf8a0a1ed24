"""What a dialect reads from one span or log record: plain data, no names of any instrumentation's attributes left.

An open trace keeps all its GenAI spans in memory, so they are small, and what is costly to parse (arguments, model
outputs) stays as it was received until the run is reconstructed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Literal

from collector.model import semconv
from collector.model.span import SPAN_KIND_CONSUMER, SPAN_KIND_SERVER, STATUS_ERROR, STATUS_OK, Resource, Span
from collector.payloads.messages import may_contain_tool_calls, tool_call_parts
from collector.payloads.offered_tools import fits_of
from collector.payloads.refusals import UNTOLD, Refusal, find_refusal, is_interrupt
from collector.payloads.response import is_blank
from collector.payloads.text_calls import requests_action
from collector.payloads.tool_results import ToolResult, newest_tool_results, tool_result
from collector.payloads.user_input import newest_user_input
from collector.payloads.values import MAX_TEXT, name_of
from scorers.trajectory import Status

MAX_CONTEXT_TEXT: Final = 512
"""Longest attribute value, in characters, that is kept for rules to match."""
_DENIALS: Final = ("denied", "rejected", "permission_denied")
"""Types of errors that mean a denial, by the framework or by the tool."""
AI_SDK: Final = ("ai", "gen_ai")
"""The scopes of Vercel's AI SDK. Where it gives a failed span a message, it records the exception as well."""
_OPENINFERENCE: Final = "openinference.span.kind"
_OUTPUT: Final = "output.value"
_COPILOT: Final = "github.copilot"  # it has no message where content is not captured, and means its own denial
MAX_EVENTS: Final = 16
"""How many events of a span are looked at for what was raised."""
_NO_ATTRIBUTES: Final[Mapping[str, Any]] = MappingProxyType({})  # shared: most spans keep none
_REMOTE_KINDS: Final = (SPAN_KIND_SERVER, SPAN_KIND_CONSUMER)  # called from elsewhere; used if the flags do not say


CopiedField = Literal["call_id", "arguments", "conversation_id", "response_id"]
"""A field of a GenAI span that is, where all goes well, the very text of an attribute."""

CONVENTIONS: Final = "otel_genai"
"""The dialect of spans that follow the OpenTelemetry GenAI semantic conventions."""

BY_SHAPE: Final = "generic"
"""The dialect of a span that was read by its shape alone."""


class Role(IntEnum):
    """What a span is to the agent run it belongs to."""

    OTHER = 0
    """Context only: the trace's root, a server span with a route, a workflow above agents."""
    AGENT = 1
    """One run of one agent."""
    TOOL = 2
    """One execution of one tool."""
    MODEL = 3
    """One request to a model: its output holds the requested tool calls."""
    SESSION = 5
    """A connection to tools (an MCP client's), open across requests: not a run, though tool executions are below it."""
    GROUP = 6
    """The tools of one turn, run together: not a call itself, but an agent inside was started by one of them."""
    EVENT = 4
    """A log record about a model request, joined to it by span id."""


# For what looks at every span: Python 3.11 takes five times as long to find a member in its class.
OTHER: Final = Role.OTHER
AGENT: Final = Role.AGENT
TOOL: Final = Role.TOOL
MODEL: Final = Role.MODEL
SESSION: Final = Role.SESSION
GROUP: Final = Role.GROUP
EVENT: Final = Role.EVENT


Told = Literal["input", "response", "arguments", "tools"]
"""What a run tells people and judges: what the user said, the answer, the arguments of its calls, the tools it was offered."""
NOTHING_HIDDEN: Final = frozenset[Told]()


@dataclass(slots=True)
class Content:
    """What few spans have, and what only a judge needs of a span, as received."""

    output: Any = None
    """The agent's or model's output, which may hold the final response."""
    tool_definitions: Any = None
    """Holds the definitions of the tools it was offered."""
    fits: str = ""
    """MODEL: of each call in its output, whether it fits the tools that the request offered: letters of ``offered_tools``."""
    hidden: frozenset[Told] = NOTHING_HIDDEN
    """What of the span was read from attributes whose values must not leave."""


@dataclass(slots=True, init=False)
class GenAISpan:
    """One span as an agent run sees it. Times are Unix nanoseconds; None means that it was not recorded."""

    span_id: bytes
    parent_span_id: bytes
    start_ns: int
    end_ns: int
    role: Role
    dialect: str
    resource: Resource
    remote_parent: bool
    """The parent runs in another process and may never be received."""
    name: str | None
    """Of the tool (TOOL) or the agent (AGENT)."""
    call_id: str | None
    """TOOL: its own. AGENT: that of the call for which its run waits when it ends."""
    arguments: Any
    """TOOL: as received, parsed when the run is reconstructed."""
    status: Status
    error_type: str | None
    tracing: Literal[
        "", "complete", "lossy", "apart", "guessed", "node", "memory", "loop", "result", "told", "asked", "served",
        "text", "converted", "graph", "part", "turns", "resumed",
    ]  # fmt: skip
    """AGENT: "complete" if every tool execution leaves a span, "apart" if its run goes on in other traces, "guessed" if only
    its name says that it is an agent's, "node" if it is a node of a graph, and perhaps a step of the agent around it, "resumed"
    if its run waited for a human in an earlier trace, and goes on.
    OTHER: "complete" and "apart" likewise, of the runs inside, "graph" if it is an agent's graph, which may call functions.
    TOOL: "lossy" if one that fails leaves none, "guessed" if nothing but its attributes says that the span is a tool's, which a
    step on the way to the tool may carry as well, "result" if it tells only what came of the call before it, "told" if
    another span or messages tell whether it failed, "asked" if it was asked for, and holds no result as one that ran does,
    "served" if a server's span begins the trace: whoever called has its own. "text" if nothing but its result says that it
    failed: a text, where the framework converts results to JSON, as a tool may itself, "converted" if its result was one.
    MODEL: "memory" if it is no request, but stores the conversation so far, or holds all turns of a run, "loop" likewise if
    it made all the calls that it tells of, "lossy" if its messages leave out which results are failures, "guessed" if only
    its answer says that it is a request, "part" if a piece of an answer, which another may hold whole, "turns" if perhaps
    several requests, "complete" if each call of its answer that runs leaves a span, "graph" likewise, nameless if it fails."""
    refusal: Refusal | None
    """TOOL: what its error or result says of a call that did not run (unknown tool, invalid arguments, no permission)."""
    is_pending: bool
    """TOOL: it waits for a human, or its arguments were recorded and no result, by an instrumentation that records results."""
    agent: str | None
    """Name of the agent that a TOOL or MODEL span names as its own."""
    conversation_id: str | None
    response_id: str | None
    output: Any
    """MODEL: its output, as received; None if it cannot contain a tool call.
    AGENT: the calls that its models requested, if its span holds them instead of spans of its models."""
    tool_results: tuple[ToolResult, ...] | None
    """MODEL: the results in its input of the calls requested last; none of them if none failed, None if nothing tells.
    EVENT: the result that it tells."""
    history: Any
    """MODEL: its input, as received, if it may tell what became of earlier tool calls.
    AGENT: the transcript of its run, if its span holds one.
    OTHER: the transcripts of the runs inside.
    GROUP: the calls inside, with what became of each."""
    has_output: bool
    """MODEL: its output was captured."""
    finish: Literal["", "tool_calls", "other"]
    """MODEL: whether its finish reason says that it requested tool calls; "" if none was recorded."""
    user_input: Any
    """The input that may hold the user's text, as received."""
    attributes: Mapping[str, Any]
    """AGENT and OTHER: the attributes from which route and intent are taken, and that rules may match."""
    content: Content | None
    """Set if a judge may be asked about the run, if the request held the tools that it offered, or if something is hidden."""
    scope: str
    """The name of the instrumentation library that wrote the span."""

    # Written out: that of a dataclass stays interpreted in the compiled build.
    def __init__(
        self,
        span_id: bytes,
        parent_span_id: bytes,
        start_ns: int,
        end_ns: int,
        role: Role,
        dialect: str,
        resource: Resource,
        remote_parent: bool = False,
    ) -> None:
        self.span_id, self.parent_span_id, self.start_ns, self.end_ns = span_id, parent_span_id, start_ns, end_ns
        self.role, self.dialect, self.resource, self.remote_parent = role, dialect, resource, remote_parent
        self.name, self.call_id, self.arguments, self.agent = None, None, None, None
        self.status, self.error_type, self.tracing, self.refusal, self.is_pending = "unset", None, "", None, False
        self.conversation_id, self.response_id, self.finish = None, None, ""
        self.output, self.has_output, self.tool_results, self.history, self.user_input = None, False, None, None, None
        self.attributes, self.content, self.scope = _NO_ATTRIBUTES, None, ""

    @property
    def instrumentation(self) -> tuple[str, str]:
        """Who recorded the span: two of these may record one call, or one run, at once."""
        return self.scope, self.dialect

    @property
    def is_transcript(self) -> bool:
        """MODEL: Whether it is no request, but tells of several."""
        return self.tracing == "memory" or self.tracing == "loop"

    @property
    def annotatable(self) -> bool:
        """Whether this span may be annotated, so that its bytes have to wait for the verdict."""
        return self.role == AGENT or self.role == TOOL

    @property
    def lacks_arguments(self) -> bool:
        """Whether it is a tool's execution, and arguments or name may be in an attribute that its dialect does not know."""
        return self.role == TOOL and (self.arguments is None or self.name is None)

    def set_copied(self, field: CopiedField, text: str) -> None:
        """Set one of the fields that are the text of an attribute."""
        if field == "arguments":
            self.arguments = text
        elif field == "call_id":
            self.call_id = text
        elif field == "conversation_id":
            self.conversation_id = text
        else:
            self.response_id = text


IGNORED: Final = GenAISpan(b"", b"", 0, 0, OTHER, "", Resource({}))
"""A span that the dialect understands and no run needs (a step, an embedding): forwarded, not kept, not counted as unread."""
UNREAD: Final = GenAISpan(b"", b"", 0, 0, OTHER, "", Resource({}))
"""A span that looks like an agent's and that no dialect can read."""


def has_remote_parent(span: Span) -> bool:
    """Whether the span's parent, if it has one, runs in another process."""
    return span.remote_parent is True or (span.remote_parent is None and span.kind in _REMOTE_KINDS)


def genai_span_of(span: Span, role: Role, dialect: str) -> GenAISpan:
    """Returns a GenAI span with what every span holds: ids, times, and whether it failed."""
    genai_span = GenAISpan(
        span.span_id, span.parent_span_id, span.start_ns, span.end_ns, role, dialect, span.resource, has_remote_parent(span)
    )  # fmt: skip
    genai_span.scope = span.scope.name
    error_type = span.attributes.get(semconv.ERROR_TYPE)
    if error_type is not None or (span.status == STATUS_ERROR and not _is_failure_of_another(span)):
        set_error(genai_span, span, name_of(error_type))
    elif span.status == STATUS_OK:
        genai_span.status = "ok"
    return genai_span


def _is_failure_of_another(span: Span) -> bool:
    """Whether the span has its status from another.

    OpenInference's processor for Vercel's AI SDK copies that of the first failure of a trace, with its message, to all
    spans that end later, though they succeeded.
    """
    if span.scope.name not in AI_SDK or _OPENINFERENCE not in span.attributes:
        return False
    if not span.status_message:  # what was thrown is no `Error`: the SDK records nothing of it, and no output
        return _OUTPUT in span.attributes
    return all(event.name != semconv.EVENT_EXCEPTION for event in span.events)


def set_error(genai_span: GenAISpan, span: Span, error_type: str | None = None) -> None:
    """Mark the span as failed, with the reason: ``error_type``, else the class of the recorded exception."""
    genai_span.status = "error"
    # The status, the exception, or what should be a type may hold the words of a refusal.
    messages: list[object] = [span.status_message, error_type]
    for event in span.events:
        if event.name == semconv.EVENT_EXCEPTION:
            error_type = error_type or name_of(event.attributes.get(semconv.EXCEPTION_TYPE))
            messages.append(event.attributes.get(semconv.EXCEPTION_MESSAGE))
    genai_span.error_type = error_type
    words = [message for message in messages if type(message) is str]
    genai_span.is_pending = any(map(is_interrupt, (error_type or "", *words)))
    genai_span.refusal = next(filter(None, map(find_refusal, words)), None)
    if genai_span.refusal is None and error_type in _DENIALS:
        genai_span.refusal = Refusal(is_sure=span.scope.name == _COPILOT)


def set_raised(genai_span: GenAISpan, span: Span) -> None:
    """Mark a call as failed that recorded what was raised, and of which nothing tells that it returned.

    Some tracers leave the status as it is, or report a success.
    """
    if any(event.name == semconv.EVENT_EXCEPTION for event in span.events[:MAX_EVENTS]):
        set_error(genai_span, span)


def set_words_of_failure(genai_span: GenAISpan, words: str) -> None:
    """Mark a call as failed by its result: words, where the framework makes JSON of what tools return.

    Those that do not read like a failure are in doubt: a tool may have made them itself.
    """
    told = tool_result(None, words)
    genai_span.status, genai_span.refusal = "error", told.refusal
    genai_span.tracing = "" if told.failed or told.refusal is not None else "text"


def doubt_start(genai_span: GenAISpan) -> None:
    """Note that a call that failed, and has a result but no arguments, may never have begun.

    A framework that checks arguments inside the span may leave out what the tool does not take: OpenAI Agents for JavaScript.
    """
    if genai_span.refusal is None or genai_span.refusal.is_ruled_out:
        genai_span.refusal = Refusal(is_sure=False)


def doubt_failure(genai_span: GenAISpan) -> None:
    """Note of a call that failed that nothing which is understood says why: it may have been refused."""
    if genai_span.status == "error" and genai_span.refusal is None:
        genai_span.refusal = UNTOLD


def doubt_outcome(genai_span: GenAISpan) -> None:
    """Note of a call that its answer may tell of a failure, unless its span says what came of it."""
    if genai_span.status == "unset" and not genai_span.tracing:
        genai_span.tracing = "told"


def model_span_of(span: Span, dialect: str, output: object, messages: object) -> GenAISpan:
    """Returns a MODEL span with what reconstruction needs of the request's output and input messages."""
    genai_span = genai_span_of(span, MODEL, dialect)
    genai_span.finish = _finish(span)
    # A model that says nothing has requested tools: some tracers record of its message only the text.
    # One that requests an action in words has finished for its provider, and not for the agent.
    if output is not None and (requests_action(output) or (not genai_span.finish and is_blank(output))):
        genai_span.finish = "tool_calls"
    set_output(genai_span, output)
    set_input(genai_span, messages)
    return genai_span


def set_output(genai_span: GenAISpan, output: object) -> None:
    """Keep a model's output if it may contain tool calls."""
    genai_span.has_output = genai_span.has_output or bool(output)
    if may_contain_tool_calls(output):
        genai_span.output = output


def compare_with_offered(genai_span: GenAISpan, definitions: object) -> None:
    """Keep whether the calls in a model's output fit the tools that the request offered, if these are known."""
    if definitions and genai_span.output is not None:
        fits = fits_of(tool_call_parts(genai_span.output), definitions)
        if fits:
            genai_span.content = Content(fits=fits)


def set_input(genai_span: GenAISpan, messages: object) -> None:
    """Keep of a model's input the user's message, if it is the newest, and the newest failed tool results."""
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.tool_results = newest_tool_results(messages)
        history = _as_text(messages)
        if genai_span.user_input is messages:
            genai_span.user_input = history
        # A longer text would not be parsed later, so an open trace need not hold it.
        if (type(history) is not str or len(history) <= MAX_TEXT) and may_contain_tool_calls(history):
            genai_span.history = history


def _as_text(messages: object) -> object:
    """Returns structured messages as JSON, unless that is too long to be parsed later.

    Objects take many times the memory, and of texts that continue each other a trace keeps the longest alone.
    """
    if type(messages) is str:
        return messages
    try:
        text = json.dumps(messages, default=str)
    except RecursionError:
        return messages
    return text if len(text) <= MAX_TEXT else messages


def _finish(span: Span) -> Literal["", "tool_calls", "other"]:
    """The finish reason, in the words of any provider: tool_calls, tool_use, tool-calls, function_call, ..."""
    for name in semconv.FINISH_REASONS:
        reasons = span.attributes.get(name)
        if reasons:
            text = str(reasons).lower()
            return "tool_calls" if "tool" in text or "function" in text else "other"
    return ""


def context_span_of(
    span: Span, role: Role, dialect: str, user_input: object = None, conversation_id: str | None = None
) -> GenAISpan:
    """Returns an AGENT or OTHER span with the context of a run: its input, conversation and short attributes."""
    genai_span = genai_span_of(span, role, dialect)
    genai_span.user_input = user_input
    genai_span.conversation_id = conversation_id
    genai_span.attributes = context_attributes(span)
    return genai_span


def context_attributes(span: Span) -> dict[str, Any]:
    """Returns the attributes that rules may match: short strings, numbers and booleans, no messages."""
    return {
        key: value
        for key, value in span.attributes.items()
        if (len(value) <= MAX_CONTEXT_TEXT if type(value) is str else isinstance(value, (bool, int, float)))
    }
