"""What a dialect makes of one span or log record: plain data, no wire names left.

An open trace keeps all its genai_spans in memory, so a genai_span is small and what is costly to take apart (arguments, model
outputs) stays the text it was until the run is rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Literal

from collector.model import semconv
from collector.model.span import SPAN_KIND_SERVER, STATUS_ERROR, STATUS_OK, LogRecord, Resource, Span
from collector.payloads.messages import ToolResult
from collector.payloads.refusals import is_refusal
from collector.payloads.values import name_of
from scorers.trajectory import Status

MAX_CONTEXT_TEXT: Final = 512
_NO_ATTRIBUTES: Final[Mapping[str, Any]] = MappingProxyType({})  # shared: most genai_spans have none
_REMOTE_KINDS: Final = (
    SPAN_KIND_SERVER,
    5,
)  # server and consumer: called from elsewhere, where flags are too old to say


class Role(IntEnum):
    """What a span is to the agent run it belongs to."""

    OTHER = 0
    """Context only: the trace's root, a server span with a route, a workflow above agents."""
    AGENT = 1
    """One run of one agent."""
    TOOL = 2
    """One execution of one tool."""
    MODEL = 3
    """One request to a model: its output says what was asked for."""
    SESSION = 5
    """A connection to tools (an MCP client's), open across requests: no run, though tool calls hang below it."""
    GROUP = 6
    """The tools of one turn, run together: no call itself, but an agent inside was started by one of them."""
    EVENT = 4
    """A log record about a model request, joined to it by span id."""


@dataclass(slots=True)
class Content:
    """What only a judge is told of a span, as the wire held it."""

    output: Any = None
    """Where the last words of the agent, or of its model, may be found."""
    tool_definitions: Any = None
    """Where definitions of the tools it was offered may be found."""


@dataclass(slots=True)
class GenAISpan:
    """One span as an agent run sees it. Times are Unix nanoseconds; None is "the sender did not say"."""

    span_id: bytes
    parent_span_id: bytes
    start_ns: int
    end_ns: int
    role: Role
    dialect: str
    resource: Resource
    remote_parent: bool = False
    """The parent runs in another process and may never come here."""
    name: str | None = None
    """Of the tool (TOOL) or the agent (AGENT)."""
    call_id: str | None = None
    arguments: Any = None
    """TOOL: as the wire held them, read when the run is rebuilt."""
    status: Status = "unset"
    error_type: str | None = None
    tracing: Literal["", "complete", "lossy"] = ""
    """AGENT: "complete" where every tool that runs leaves a span. TOOL: "lossy" where one that fails leaves none."""
    refused: bool = False
    """TOOL: the framework recorded the call and ran nothing (unknown tool, invalid arguments)."""
    agent: str | None = None
    """Name of the agent a TOOL or MODEL span says it works for."""
    conversation_id: str | None = None
    response_id: str | None = None
    output: Any = None
    """MODEL: what it answered, as the wire held it; None where no tool call can be in it."""
    results: tuple[ToolResult, ...] | None = None
    """MODEL: what it was told of the calls it asked for last, where any failed."""
    user_input: Any = None
    """Where the user's words may be found, as the wire held it."""
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NO_ATTRIBUTES)
    """AGENT and OTHER: the attributes that route, intent and rules may look at."""
    content: Content | None = None
    """Only where a judge may be asked about the run."""

    @property
    def annotatable(self) -> bool:
        """Whether this span may be annotated, so that its bytes must wait for the verdict."""
        return self.role == Role.AGENT or self.role == Role.TOOL


def has_remote_parent(span: Span) -> bool:
    """Whether its parent, if it has one, runs in another process."""
    return span.remote_parent is True or (span.remote_parent is None and span.kind in _REMOTE_KINDS)


def genai_span_of(span: Span, role: Role, dialect: str) -> GenAISpan:
    """A genai_span with what every span tells: ids, times, and whether it failed."""
    genai_span = GenAISpan(
        span.span_id, span.parent_span_id, span.start_ns, span.end_ns, role, dialect, span.resource, has_remote_parent(span)
    )  # fmt: skip
    error_type = span.attributes.get(semconv.ERROR_TYPE)
    if span.status == STATUS_ERROR or error_type is not None:
        genai_span.status = "error"
        _explain(genai_span, span, name_of(error_type))
    elif span.status == STATUS_OK:
        genai_span.status = "ok"
    return genai_span


def _explain(genai_span: GenAISpan, span: Span, error_type: str | None) -> None:
    """Why it failed: ``error.type``, else the class of the recorded exception."""
    messages: list[object] = [span.status_message]
    for event in span.events:
        if event.name == semconv.EVENT_EXCEPTION:
            error_type = error_type or name_of(event.attributes.get(semconv.EXCEPTION_TYPE))
            messages.append(event.attributes.get(semconv.EXCEPTION_MESSAGE))
    genai_span.error_type = error_type
    genai_span.refused = any(type(message) is str and is_refusal(message) for message in messages)


def context_attributes(span: Span) -> dict[str, Any]:
    """The attributes of an anchor or root that rules may look at: short plain values, no messages."""
    return {
        key: value
        for key, value in span.attributes.items()
        if (len(value) <= MAX_CONTEXT_TEXT if type(value) is str else isinstance(value, (bool, int, float)))
    }


IGNORED: Final = GenAISpan(b"", b"", 0, 0, Role.OTHER, "", Resource({}))
"""A span the dialect understood and nobody needs (a step, an embedding): pass it on, count no blind spot, keep nothing."""

_FILLABLE: Final = tuple(
    f.name
    for f in fields(GenAISpan)
    if f.name not in ("span_id", "parent_span_id", "start_ns", "end_ns", "role", "dialect")
)


def fill_missing(genai_span: GenAISpan, other: GenAISpan) -> None:
    """Take from ``other`` what ``genai_span`` does not know: two dialects, or two spans, that tell of the same thing."""
    for name in _FILLABLE:
        mine = getattr(genai_span, name)
        if not mine or mine == "unset":
            setattr(genai_span, name, getattr(other, name))


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of instrumentations writes agent runs. One file each; ``collector.dialects`` is the table of them.

    A span is in this dialect when it carries one of ``keys`` or its scope is one of ``scopes``.
    """

    name: str
    keys: tuple[str, ...]
    read_span: Callable[[Span], GenAISpan | None]
    """None where the span, though in this dialect, is not understood."""
    scopes: tuple[str, ...] = ()
    markers: tuple[bytes, ...] = ()
    """Bytes one of which stands in every span of this dialect that matters, unless those of ``otel_genai`` do. Each is
    looked for in all traffic, so they are few, and long, which makes them faster to look for."""
    attributes: frozenset[str] = frozenset()
    """Attributes ``read`` looks at, beyond ``keys``."""
    prefixes: tuple[str, ...] = ()
    """Attributes ``read`` looks at by how they begin."""
    whole_scopes: tuple[str, ...] = ()
    """Scopes whose every span matters, with every attribute: some spans there have neither marker nor known names."""
    read_log: Callable[[LogRecord], GenAISpan | None] | None = None
    output_attributes: tuple[str, ...] = ()
    """Attributes that hold what an agent or model answered, read only where a judge may be asked; the most exact first.
    One that ends with a dot is the beginning of several."""
    tool_definition_attributes: tuple[str, ...] = ()
    """Attributes that hold the definitions of the tools it could call, likewise."""
    request_attributes: tuple[str, ...] = ()
    """Attributes that hold a whole request to a model with the definitions in it."""
