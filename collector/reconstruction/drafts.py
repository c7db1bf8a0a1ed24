"""Intermediate data of reconstruction: mutable, and discarded once the runs are built."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal

from collector.model import semconv
from collector.model.genai_span import AGENT, GenAISpan
from collector.model.span import Resource
from collector.payloads.refusals import Refusal
from collector.payloads.values import Arguments
from collector.reconstruction.frameworks import SMOLAGENTS
from scorers.trajectory import Doubt, DoubtName, KnownBy, Status, ToolCall, Trajectory

ONLY_ATTRIBUTES: Final = "only its attributes say that its span is the call of a tool"
"""The evidence for a call whose span may be something else."""
BROKEN: Final = "the model wrote arguments that are no JSON"
"""Why a call may not have run: few tools are called with what is left of them."""
_SHORTEST_CUT: Final = 128
"""Characters: attributes are limited to no fewer."""
_PARSER: Final = re.compile(r"(?i)\bjson\w*(?:error|exception)$|^SyntaxError$|^\*json\.(?:Syntax|UnmarshalType)Error$")
"""The type of an error of Python's, Java's, .NET's, JavaScript's or Go's parser of JSON."""

# The classes below have an `__init__` of their own: that of a dataclass stays interpreted in the compiled build.


@dataclass(slots=True, init=False)
class RunSpans:
    """The spans of one agent run. ``executions`` has one list per call: the spans of the same call, outermost first."""

    anchor: GenAISpan | None
    anchor_id: bytes
    """The span that identifies the run: the agent's, else the trace's root, else the earliest received."""
    parent: RunSpans | None
    """The run that started it."""
    started_by: bytes | None
    """Span id of the tool execution that started it, if one did."""
    wrappers: list[GenAISpan]
    """Further agent spans of the same run, which may hold what the anchor lacks."""
    executions: list[list[GenAISpan]]
    models: list[GenAISpan]
    children: list[RunSpans]
    """Runs started by this one."""
    enclosing: dict[bytes, bytes]
    """Span id of an execution -> span id of the execution of another tool that encloses it."""
    asked_inside: dict[bytes, bytes]
    """Span id of a model request -> span id of the execution around it: a tool asked, perhaps an agent without a span."""
    incomplete: tuple[Literal["missing_parent", "missing_anchor"], ...]
    """What was not received and should be."""
    missing_ancestor: bytes
    """Id of the nearest span above the anchor that was not received."""
    has_unseen_caller: bool
    """The nearest span above the anchor that was not received ran in another process."""
    adopted: set[bytes]
    """Ids of missing spans between the anchor and spans of the run."""
    disputed: list[RunSpans]
    """Spans below missing ones: they belong to this run or to another."""
    turns_are_ordered: bool
    """False if nothing tells which of its model requests came first."""
    repeated: Collection[bytes]
    """Span ids of executions that may be records of other calls of the run."""
    nameless: list[GenAISpan]
    """Executions of which the tool's name was not recorded."""
    has_unrecorded_calls: bool
    """A model requested tools, or one ran, and nothing records which."""
    is_continued: bool
    """Its only span is a request that tells of calls since the user's message, or is an agent's and asked for some: they may
    be in other traces."""

    def __init__(self, anchor: GenAISpan | None, anchor_id: bytes, parent: RunSpans | None = None) -> None:
        self.anchor, self.anchor_id, self.parent, self.started_by = anchor, anchor_id, parent, None
        self.wrappers, self.executions, self.models, self.children = [], [], [], []
        self.enclosing, self.asked_inside = {}, {}
        self.incomplete, self.missing_ancestor, self.has_unseen_caller = (), b"", False
        self.adopted, self.disputed, self.turns_are_ordered, self.repeated = set(), [], True, ()
        self.nameless = []
        self.has_unrecorded_calls = self.is_continued = False

    @property
    def is_idle(self) -> bool:
        """Whether it made no call and no request to a model."""
        return not self.executions and not self.models

    def opens_with(self, model: GenAISpan) -> bool:
        """Whether a request to a model begins its trace, or all that is around it is another record of the request."""
        anchor = self.anchor
        if not model.parent_span_id or anchor is None:
            return not model.parent_span_id
        return anchor.tracing.extent == "alone" and anchor.span_id == model.parent_span_id

    @property
    def may_lack_agent(self) -> bool:
        """Whether a span below its anchor was not received that may be its agent's: what came last may be missing, too."""
        return bool(self.missing_ancestor) and self.anchor is not None and self.anchor.role is not AGENT

    @property
    def is_of_code(self) -> bool:
        """Whether its agent may write code, which calls tools and other agents one after the other."""
        return self.anchor is not None and self.anchor.scope in SMOLAGENTS

    @property
    def ended_before_calls(self) -> bool:
        """Whether it says that it ended in place of the calls of the last answer, at a limit or with one of them."""
        return self.anchor is not None and self.anchor.refusal is not None and self.anchor.refusal.is_of_rest

    @property
    def goes_on(self) -> bool:
        """Whether a part of it is in other traces, as its spans tell."""
        return self.is_continued or (self.anchor is not None and self.anchor.tracing.extent == "apart")

    @property
    def told_results(self) -> int:
        """About how many results of calls its agent's output tells of."""
        return 0 if self.anchor is None or self.anchor.content is None else self.anchor.content.told_results

    @property
    def answer(self) -> str:
        """What its agent said last, as received; "" if that was not recorded, or is a whole conversation."""
        return "" if self.anchor is None or self.anchor.content is None else self.anchor.content.answer

    @property
    def has_spans_of_all(self) -> bool:
        """Whether each of its calls leaves a span, as its agent's span tells, or a further one."""
        return (self.anchor is not None and self.anchor.tracing.traced_calls == "all") or any(
            wrapper.tracing.traced_calls == "all" for wrapper in self.wrappers
        )


@dataclass(slots=True, init=False)
class DraftCall:
    """One tool call on its way into a trajectory."""

    name: str
    id: str | None
    arguments: Arguments
    arguments_text: str | None
    status: Status
    error_type: str | None
    start_ns: int
    end_ns: int
    span_id: bytes | None
    executed: bool
    turn: int
    """Index of the run's model response that requested it; -1 if unknown."""
    position: int
    """Its position among the calls of that turn."""
    step: int
    enclosing_id: bytes | None
    """Span id of the tool execution that made this call: it started earlier, whatever its duration."""
    resource: Resource | None
    """Of its execution; identifies the clock that stamped it."""
    response: int
    """Index of the model response that it followed by the clock, if its turn is unknown; -1 if there is none."""
    known_by: KnownBy
    doubt: DoubtName | None
    """Why it may not have run, or not in this run."""
    evidence: str
    """What would settle the doubt, as a clause."""
    run: int
    """Which of several joined runs it belongs to. Turns of one run order nothing in another."""
    refusal: Refusal | None
    """What its spans say of a call that did not run."""
    fits: bool
    """The tool, as it was offered to the model, takes its arguments."""
    is_silent: bool
    """Its spans do not tell what came of it."""
    is_in_words: bool
    """Nor do messages, unless they tell of a failure: its words alone may read like a result."""
    is_contradicted: bool
    """Its span holds other arguments than the model wrote."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is known of a call
        self,
        name: str,
        id: str | None,  # noqa: A002 - the name of the field
        arguments: Arguments,
        arguments_text: str | None,
        status: Status,
        error_type: str | None,
        start_ns: int,
        end_ns: int,
        span_id: bytes | None,
        executed: bool = True,
        turn: int = -1,
        position: int = 0,
        enclosing_id: bytes | None = None,
        resource: Resource | None = None,
        known_by: KnownBy = "span",
        run: int = 0,
    ) -> None:
        self.name, self.id, self.arguments, self.arguments_text = name, id, arguments, arguments_text
        self.status, self.error_type, self.start_ns, self.end_ns = status, error_type, start_ns, end_ns
        self.span_id, self.executed, self.turn, self.position = span_id, executed, turn, position
        self.step, self.enclosing_id, self.resource, self.response = 0, enclosing_id, resource, -1
        self.known_by, self.run = known_by, run
        self.doubt, self.evidence, self.refusal, self.fits, self.is_silent = None, "", None, False, False
        self.is_in_words = self.is_contradicted = False

    def doubt_execution(self, evidence: str) -> None:
        """Doubt that it ran; ``evidence`` is a clause."""
        self.doubt, self.evidence = "uncertain_execution", evidence

    def doubt_owner(self, evidence: str) -> None:
        """Doubt that it is a call of this run, unless it is in doubt already or did not run; ``evidence`` is a clause."""
        # One doubt for a call: what may not have run at all is tried both ways as it is.
        if self.executed and self.doubt is None:
            self.doubt, self.evidence = "uncertain_owner", evidence

    def settle_refusal(self, *, fits: bool) -> None:
        """Decide a refusal that its arguments decide: it ran if they ``fit`` the tool. Other doubts stay."""
        self.executed, self.refusal = fits, Refusal(is_ruled_out=fits)
        if self.doubt == "uncertain_execution":
            self.doubt, self.evidence = None, ""


by_start: Callable[[GenAISpan], tuple[int, bytes]] = attrgetter("start_ns", "span_id")
"""Sort key of spans. Arrival order is not used: exporters send spans as they end, and retries reorder them."""


def is_broken(arguments_text: str | None) -> bool:
    """Whether a model wrote an object that nobody can parse; one that is longer may have been cut by who recorded it."""
    return arguments_text is not None and arguments_text.startswith("{") and len(arguments_text) < _SHORTEST_CUT


def is_of_parser(error_type: str | None) -> bool:
    """Whether a parser of JSON failed: that of the framework, where the arguments are none."""
    return error_type is not None and _PARSER.search(error_type[-_SHORTEST_CUT:]) is not None


def begin_ns(call: DraftCall | GenAISpan) -> int:
    """When it began: a clock set back during the call makes it end before it starts."""
    return call.end_ns if 0 < call.end_ns < call.start_ns else call.start_ns


def latest_start(start_ns: int) -> int:
    """Returns the latest time at which a span with this recorded start can have started.

    JavaScript clocks truncate starts to whole milliseconds, so such a start may be up to a millisecond later.
    """
    return start_ns + 999_999 if start_ns % 1_000_000 == 0 else start_ns


def latest_starts(calls: Iterable[DraftCall]) -> dict[str, int]:
    """Returns when the latest call by each name that ran was begun."""
    latest: dict[str, int] = {}
    for call in calls:
        if call.executed:
            latest[call.name] = max(call.start_ns, latest.get(call.name, 0))
    return latest


def clock_of(resource: Resource | None) -> object:
    """Returns what identifies the clock that stamped the spans of a resource."""
    # None for every resource that names no host: these count as one clock.
    attributes = {} if resource is None else resource.attributes
    return next((attributes[name] for name in semconv.HOST_NAMES if name in attributes), None)


def trajectory_of(calls: Iterable[DraftCall], user_input: str | None, doubts: Sequence[Doubt]) -> Trajectory:
    """Returns what the scorers read, of calls that are in order."""
    return Trajectory(
        [
            ToolCall(
                call.name, call.arguments, call.id, call.status, call.error_type, call.start_ns, call.end_ns,
                None if call.span_id is None else call.span_id.hex(), call.executed, call.step, call.arguments_text,
                call.known_by,
            )
            for call in calls
        ],
        user_input, doubts,
    )  # fmt: skip
