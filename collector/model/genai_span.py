"""What a dialect reads from one span or log record: plain data, no names of any instrumentation's attributes left.

An open trace keeps all its GenAI spans in memory, so they are small, and what is costly to parse (arguments, model
outputs) stays as it was received until the run is reconstructed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Literal

from collector.model.span import Resource
from collector.model.tracing import USUAL, Extent, Identity, Outcome, TracedCalls, Tracing, tracing_of
from collector.payloads.refusals import Refusal
from collector.payloads.tool_results import ToolResult
from scorers.trajectory import Status

_NO_ATTRIBUTES: Final[Mapping[str, Any]] = MappingProxyType({})  # shared: most spans keep none

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
    told_results: int = 0
    """AGENT: about how many results of calls its output tells of, if that holds the conversation."""
    answer: str = ""
    """AGENT: its output, as received, if that is short and tells of no results: it may be what the agent said last."""


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
    tracing: Tracing
    """What is unusual about it: see ``note``."""
    refusal: Refusal | None
    """TOOL: what its error or result says of a call that did not run (unknown tool, invalid arguments, no permission)."""
    is_pending: bool
    """TOOL: it waits for a human, or its arguments were recorded and no result, by an instrumentation that records results.
    AGENT and MODEL: the run waits for a human when it ends, as its span, its memory or the last answer tells."""
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
    """MODEL: whether its finish reason says that it requested tool calls; "" if none was recorded.
    AGENT: the same of its last answer, if its span tells it and the spans of its models do not."""
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
        self.status, self.error_type, self.refusal, self.is_pending = "unset", None, None, False
        self.tracing = USUAL
        self.conversation_id, self.response_id, self.finish = None, None, ""
        self.output, self.has_output, self.tool_results, self.history, self.user_input = None, False, None, None, None
        self.attributes, self.content, self.scope = _NO_ATTRIBUTES, None, ""

    def note(
        self, outcome: Outcome = "", identity: Identity = "", extent: Extent = "", traced_calls: TracedCalls = ""
    ) -> None:
        """Note what is unusual about it, beside what was noted before: `collector.model.tracing` has what each value says."""
        if not (outcome or identity or extent or traced_calls):  # most spans are usual
            return
        known = self.tracing
        self.tracing = tracing_of(
            outcome or known.outcome,
            identity or known.identity,
            extent or known.extent,
            traced_calls or known.traced_calls,
        )

    @property
    def instrumentation(self) -> tuple[str, str]:
        """Who recorded the span: two of these may record one call, or one run, at once."""
        return self.scope, self.dialect

    @property
    def is_transcript(self) -> bool:
        """MODEL: Whether it is no request, but tells of several."""
        return self.tracing.extent == "memory" or self.tracing.extent == "loop"

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
