"""A rebuilt run of an agent: what is scored, and what rules, judges and people are told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collector.model.genai_span import NOTHING_HIDDEN, Content, Told
from collector.model.span import Resource
from scorers.rules.intents import FoundIntent
from scorers.trajectory import Trajectory

AGREEING: Final = frozenset[frozenset[object]]()
"""The wrong clocks of nearly all runs."""
ALL_READ: Final = frozenset[str]()
"""What was not read of nearly all runs."""


@dataclass(slots=True, init=False)
class Run:
    """One agent run: the unit that is scored. None means that it was not recorded."""

    trace_id: bytes
    span_id: bytes
    """Its anchor: the agent's span, else the trace's root, else the earliest span received."""
    parent_span_id: bytes | None
    """Anchor of the run that started it."""
    agent: str | None
    conversation_id: str | None
    route: str | None
    intent: str | None
    user_input: str | None
    response_id: str | None
    service: str | None
    dialect: str
    attributes: Mapping[str, Any]
    """Short attributes of anchor and resource, for rules to match, and the tenant that a span above names."""
    trajectory: Trajectory
    """Its calls, and what is in doubt about them."""
    call_span_ids: tuple[bytes | None, ...]
    """The execution span of each call; None if there is none to annotate."""
    started_by: bytes | None
    """The tool execution, in the parent run, that started this run."""
    start_ns: int
    """Start of its anchor, else of the first span received."""
    found_intent: FoundIntent | None
    """The intent found in the user's text, if no attribute gives one and rules ask for it."""
    contents: Sequence[Content]
    """Holds its final response and tool definitions, the most relevant first; empty unless a judge may be asked."""
    call_resources: Sequence[Resource | None]
    """What executed each call: tells which calls were stamped by one clock."""
    wrong_clocks: frozenset[frozenset[object]]
    """Pairs of clocks that contradict one another."""
    is_below_missing: bool
    """A span above it was not received, and should be: what else happened there is unknown."""
    scope: str
    """The instrumentation scope of its anchor."""
    hidden: frozenset[Told]
    """What of this was read from attributes whose values must not leave, in any span of its trace."""
    unread: frozenset[str]
    """Keys that rules match, as `scorers` names them, and that were not read of it: there were no such rules then."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is known of a run
        self,
        trace_id: bytes,
        span_id: bytes,
        parent_span_id: bytes | None,
        agent: str | None,
        conversation_id: str | None,
        route: str | None,
        intent: str | None,
        user_input: str | None,
        response_id: str | None,
        service: str | None,
        dialect: str,
        attributes: Mapping[str, Any],
        trajectory: Trajectory,
        call_span_ids: tuple[bytes | None, ...],
        started_by: bytes | None,
        start_ns: int = 0,
        found_intent: FoundIntent | None = None,
        contents: Sequence[Content] = (),
        call_resources: Sequence[Resource | None] = (),
        wrong_clocks: frozenset[frozenset[object]] = AGREEING,
        is_below_missing: bool = False,
        scope: str = "",
        hidden: frozenset[Told] = NOTHING_HIDDEN,
        unread: frozenset[str] = ALL_READ,
    ) -> None:
        self.trace_id, self.span_id, self.parent_span_id, self.agent = trace_id, span_id, parent_span_id, agent
        self.conversation_id, self.route, self.intent, self.user_input = conversation_id, route, intent, user_input
        self.response_id, self.service, self.dialect, self.attributes = response_id, service, dialect, attributes
        self.trajectory, self.call_span_ids, self.started_by = trajectory, call_span_ids, started_by
        self.start_ns, self.found_intent, self.contents = start_ns, found_intent, contents
        self.call_resources, self.wrong_clocks = call_resources, wrong_clocks
        self.is_below_missing, self.scope, self.hidden, self.unread = is_below_missing, scope, hidden, unread
