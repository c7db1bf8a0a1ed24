"""Which calls of a run may be those of another agent, which has no span of its own."""

from __future__ import annotations

from collections.abc import Iterable

from collector.model.genai_span import AGENT
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.requested_calls import RequestedCall


def doubt_of_other_names(run: RunSpans, calls: Iterable[DraftCall]) -> None:
    """Doubt the calls of a run without a name that name another agent than the first does: none has a span of its own."""
    if run.anchor is None or run.anchor.role is not AGENT or run.anchor.name is not None:
        return
    agents = {spans[0].span_id: spans[0].agent for spans in run.executions if spans[0].agent is not None}
    first = next(iter(agents.values()), None)
    for call in calls if len(agents) > 1 else ():
        agent = agents.get(call.span_id or b"", first)
        if agent != first:
            call.doubt_owner(f"it is a call of {agent}, which has no span of its own")


def doubt_beside_agents(run: RunSpans, calls: Iterable[DraftCall]) -> None:
    """Doubt the calls that began while an agent without a span of its own was under way: they may be that agent's."""
    agents = [spans[0] for spans in run.executions if spans[0].tracing.extent in ("asks", "starts")]
    for call in calls if agents else ():
        began = [one for one in agents if one.start_ns < call.start_ns]
        if any(one.tracing.extent == "starts" or call.start_ns < one.end_ns for one in began):
            call.doubt_owner("an agent that has no span of its own may have made it")


def doubt_asked_inside(run: RunSpans, calls: Iterable[DraftCall], requested: Iterable[RequestedCall]) -> None:
    """Doubt the calls that a tool asked a model for: an agent inside it, without a span of its own, may have made them."""
    if not run.asked_inside:
        return
    asked = {id(request.execution) for request in requested if request.model.span_id in run.asked_inside}
    # A model there asked for tools, or may have: which is not recorded.
    unknown = {
        run.asked_inside.get(model.span_id)
        for model in run.models
        if model.finish == "tool_calls" or (model.output is None and not model.has_output)
    }
    for call in calls:
        if id(call) in asked or (call.enclosing_id is not None and call.enclosing_id in unknown):
            call.doubt_owner("a model was asked inside a call of another tool, and asked for it")


def doubt_unasked(run: RunSpans, calls: Iterable[DraftCall], requested: Iterable[RequestedCall]) -> None:
    """Doubt a call with nothing but a name that no model asked for, where models did for others, and one was asked inside it:
    the span may be an agent's (openlit's functions). What was asked inside one whose span ended before is not known.
    """
    asking = set(run.asked_inside.values())
    begun = {spans[0].span_id for spans in run.executions if spans[0].tracing.outcome == "begun"}
    asked = {id(request.execution) for request in requested if request.execution is not None} if asking or begun else ()
    for call in calls if asked or begun else ():
        is_open = id(call) not in asked and call.executed and call.doubt is None
        is_bare = call.id is None and call.arguments is None and call.arguments_text is None
        if is_open and call.span_id in begun:
            call.doubt_execution("no model asked for it, and models may have been asked inside it")
        elif is_open and asked and call.span_id in asking and is_bare:
            call.doubt_execution("no model asked for it, and a model was asked inside it")
