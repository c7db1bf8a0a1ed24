"""Gives spans that are below no agent's span to the runs they belong to.

Their own agent's span is missing, or that of their caller in another process, or another instrumentation recorded them beside
the run, or nothing but call ids says whose they are. Where nothing tells, the calls are in doubt in each run that may have
made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from collector.checkpoints import checkpoint
from collector.model.genai_span import GenAISpan
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.drafts import RunSpans, latest_start
from collector.reconstruction.duplicate_calls import absorb_calls
from collector.reconstruction.duplicate_runs import absorb_models
from collector.reconstruction.known_calls import CallIds, Owners
from collector.reconstruction.pairs import MAX_COMPARED, SeenBy
from collector.reconstruction.tool_names import is_mcp, is_same_tool

MAX_OWNERS_COMPARED: Final = 100_000
"""How many pairs of a run and of spans that may be its own are compared; where there are more, they are nobody's."""


def adopt(orphans: Mapping[bytes, RunSpans], runs: Sequence[RunSpans], *, has_root: bool) -> RunSpans | None:
    """Give what is below a missing span to the run that it belongs to. Returns the spans that belong to no agent's run.

    Where nothing tells which run it is, each that was under way counts the calls as in doubt. Without agents it is the
    root's, unless several spans are missing: each may have been an agent.
    """
    agentless = orphans.get(b"")
    below_missing = {missing: spans for missing, spans in orphans.items() if missing}
    if not below_missing:
        return agentless
    # First: what was recorded twice is a run's already, and needs no owner.
    _absorb_repeated(list(below_missing.values()), runs)
    # Owners are found by call id in linear time. Comparing times is not linear, and a sender chooses both factors.
    may_compare = len(runs) * len(below_missing) <= MAX_OWNERS_COMPARED
    owners_of, unowned = Owners(runs), []
    for missing, spans in below_missing.items():
        checkpoint()
        if runs and spans.is_idle:  # all of it was recorded twice
            # Any run will do: what matters is that the missing span is explained.
            runs[0].adopted.add(missing)
            continue
        ids = CallIds(spans)
        owners = owners_of.of(ids)
        possible = [run for run in runs if _is_under_way(run, spans)] if may_compare and len(owners) != 1 else []
        if len(possible) == 1 and _is_inner(spans):
            owners = possible
        if len(owners) == 1:
            owners[0].adopted.add(missing)
            _note_missing_top(owners[0], missing)
            join(owners[0], spans)
        elif possible:
            for run in possible:  # the missing span may itself be a call: it stays unexplained
                _note_missing_top(run, missing)
                run.disputed.append(spans)
        else:
            unowned.append((missing, spans, ids))
    if not unowned:
        return agentless
    is_disputed = has_root and len(unowned) + (agentless is not None) > 1
    agentless = agentless or RunSpans(None, b"")
    known = CallIds(agentless)
    for missing, spans, ids in unowned:
        checkpoint()
        if is_disputed and not ids.match(known):
            agentless.disputed.append(spans)
        else:
            join(agentless, spans)
            # The messages of what joined may prove that the next one belongs here too.
            known.add(spans)
            agentless.incomplete, agentless.missing_ancestor = ("missing_parent",), missing
    return agentless


def _is_inner(spans: RunSpans) -> bool:
    """Whether what is missing above is a span of a request, so no call and no agent."""
    return not spans.executions and all(model.tracing.extent == "inner" for model in spans.models)


def _note_missing_top(run: RunSpans, missing: bytes) -> None:
    """Note that the run lacks the span that made its calls, if that is the missing one, which encloses the run too."""
    if missing == run.missing_ancestor and "missing_anchor" not in run.incomplete:
        run.incomplete = (*run.incomplete, "missing_anchor")


def _absorb_repeated(orphans: Sequence[RunSpans], runs: Sequence[RunSpans]) -> None:
    """Merge what another instrumentation recorded as spans of ``runs`` into those."""
    together = RunSpans(None, b"")
    for spans in orphans:
        join(together, spans)
    if runs and _is_recorded_twice(together, runs):
        absorb_calls(runs, together)
        absorb_models(runs, together)
        left = {model.span_id for model in together.models}
        for spans in orphans:
            # `together` shares these inner lists: absorbing a call emptied it here as well.
            spans.executions = [call for call in spans.executions if call]
            spans.models = [model for model in spans.models if model.span_id in left]


def take_from_callers(runs: Iterable[RunSpans]) -> None:
    """Give to agents that seem to have done nothing what was done in their time beside them, below the tool that called them.

    Where an agent streams, some tracers take what it does for its caller's (the official one for Agno). Where several agents
    of one tool were under way, each counts the calls as in doubt.
    """
    idle: dict[bytes, list[RunSpans]] = {}
    for run in runs:
        if run.started_by is not None and run.parent is not None and run.is_idle:
            idle.setdefault(run.started_by, []).append(run)
    outers = {id(run.parent): run.parent for members in idle.values() for run in members}
    for outer in outers.values():
        if outer is not None:
            _take_from_caller(outer, idle)


def _take_from_caller(outer: RunSpans, idle: Mapping[bytes, Sequence[RunSpans]]) -> None:
    executions, models, compared = outer.executions, outer.models, 0
    outer.executions, outer.models = [], []
    for span, tool, alone in [
        *((call[0], outer.enclosing.get(call[0].span_id), _alone([call], [])) for call in executions),
        *((model, outer.asked_inside.get(model.span_id), _alone([], [model])) for model in models),
    ]:
        checkpoint()
        members = idle.get(tool or b"", ())
        compared += len(members)
        if compared > MAX_OWNERS_COMPARED:  # as above
            members, outer.has_unrecorded_calls = (), True
        owners = [run for run in members if _is_within(span, run.anchor)]
        for run in owners if len(owners) > 1 else ():
            run.disputed.append(alone)
        if len(owners) < 2:
            join(owners[0] if owners else outer, alone)
        if owners:
            outer.enclosing.pop(span.span_id, None)
            outer.asked_inside.pop(span.span_id, None)


def _is_within(span: GenAISpan, agent: GenAISpan | None) -> bool:
    return agent is not None and 0 < agent.start_ns <= span.start_ns and span.end_ns <= agent.end_ns


def give_to_inner(outer: RunSpans) -> Iterator[list[GenAISpan]]:
    """Merge what a library recorded as calls of ``outer`` into the calls of agents inside it that overlap. Yields these.

    A library for MCP alone knows the process that calls, and not for which agent (Claude's SDK). One beside another may
    see no agent inside ``outer`` (OpenLLMetry's for LlamaIndex).
    """
    alone, inner = RunSpans(None, b""), list(outer.children)
    own = None if outer.anchor is None else outer.anchor.instrumentation
    is_recorded_twice = any(span.instrumentation != own for span in outer.wrappers)
    alone.executions = [
        call for call in outer.executions if all(map(is_mcp, call)) or (is_recorded_twice and _by_one(call))
    ]
    if not alone.executions:
        return
    for run in inner:  # grows meanwhile: children of children are inside, too
        inner += run.children
    absorb_calls(inner, alone)
    outer.executions = [call for call in outer.executions if call]
    for run in inner:
        yield from run.executions


def _by_one(call: Sequence[GenAISpan]) -> bool:
    """Whether one instrumentation alone recorded the call."""
    return len({span.instrumentation for span in call}) == 1


def take_streamed(agentless: RunSpans, runs: Sequence[RunSpans]) -> None:
    """Take from ``agentless`` what agents did that stream: it is beside them, when they have ended or while they last.

    Nothing tells whose it is where several of them have one parent.
    """
    idle: dict[bytes, list[RunSpans]] = {}
    for run in runs:
        if run.anchor is not None and run.is_idle and run.anchor.tracing.extent in ("beside", "around"):
            idle.setdefault(run.anchor.parent_span_id, []).append(run)
    if not idle:
        return
    calls, agentless.executions = agentless.executions, []
    for call in calls:
        (_streaming(call[0], idle) or agentless).executions.append(call)
    models, agentless.models = agentless.models, []
    for model in models:
        (_streaming(model, idle) or agentless).models.append(model)
    _link_started(runs, [run for members in idle.values() for run in members])


def _link_started(runs: Iterable[RunSpans], streaming: Iterable[RunSpans]) -> None:
    """Put each of the runs that stream inside the one whose call started it, which is known only now."""
    owners = {call[0].span_id: run for run in runs for call in run.executions}
    for run in streaming:
        outer = owners.get(run.started_by) if run.parent is None and run.started_by is not None else None
        if outer is not None and outer is not run:
            run.parent = outer
            outer.children.append(run)


def _streaming(span: GenAISpan, idle: Mapping[bytes, Sequence[RunSpans]]) -> RunSpans | None:
    """Returns the agent that streamed beside the span, and began before it."""
    beside = idle.get(span.parent_span_id, ())
    if len(beside) > MAX_COMPARED:
        return None
    fitting = [run for run in beside if run.anchor is not None and _may_last(run.anchor, span)]
    anchor = fitting[0].anchor if len(fitting) == 1 else None
    return fitting[0] if anchor is not None and anchor.start_ns <= span.start_ns else None


def _may_last(agent: GenAISpan, span: GenAISpan) -> bool:
    """Whether what the agent streams may last as long as the span does."""
    return agent.tracing.extent != "around" or _is_within(span, agent)


def reclaim(agentless: RunSpans, runs: Sequence[RunSpans], *, lacks_spans: bool) -> None:
    """Take from ``agentless`` what is a run's: recorded there by another instrumentation, or requested by its models.

    Where the trace ``lacks_spans``, one of them may have been the agent's: the calls are then in doubt in each run.
    """
    if _is_recorded_twice(agentless, runs):
        seen_by = absorb_calls(runs, agentless) | absorb_models(runs, agentless)
        for run in runs:
            own = run.anchor.instrumentation if run.anchor is not None else None
            seen_by |= {(id(run), span.scope) for span in run.wrappers if span.instrumentation != own}
        besides = {scope for _, scope in seen_by}
        seen_by |= {(id(run), run.anchor.scope) for run in runs if run.anchor is not None}
        _claim_rest(agentless, runs, {pair for pair in seen_by if pair[1] in besides}, lacks_spans=lacks_spans)
    if not any(call[0].call_id for call in agentless.executions):
        return
    owners_of = Owners(runs)
    remaining: list[list[GenAISpan]] = []
    for call in agentless.executions:
        requesters = owners_of.requesters(call[0].call_id)
        (requesters[0].executions if len(requesters) == 1 else remaining).append(call)
    agentless.executions = remaining


def dispute_served(agentless: RunSpans, runs: Sequence[RunSpans], ancestry: Ancestry, skew_ns: int) -> None:
    """Take from ``agentless`` the calls of other processes of whose caller no span was received: an agent may have made them.

    Each run that was under way counts them as in doubt, but for those of tools that leave spans in that run: there the same
    call has one. Where by the clocks, which may differ by ``skew_ns``, none was under way, each may have been.
    """
    served = _by_unseen_caller(agentless, ancestry)
    if not served:
        return
    shown = {id(run): {call[0].name: call[0] for call in run.executions} for run in runs}
    names = sum([len(own) for own in shown.values()])
    compared = (len(runs) + names) * sum([len(spans.executions) for spans in served.values()])
    if compared > MAX_OWNERS_COMPARED:
        # As above: a limit that is reached shows as a doubt.
        for run in runs:
            run.has_unrecorded_calls = True
        return
    disputed: set[int] = set()
    for caller, spans in served.items():
        checkpoint()
        # What called an agent as well is around it.
        possible = [run for run in runs if ancestry.ancestors_of(run.anchor_id).unseen_caller != caller]
        if possible:
            disputed.update(map(id, (*spans.executions, *spans.models)))
        for run in [run for run in possible if _is_during(spans, run, skew_ns)] or possible:
            further = [call for call in spans.executions if not _is_among(call[0], shown[id(run)])]
            if further:
                run.disputed.append(_alone(further, spans.models))
    agentless.executions = [call for call in agentless.executions if id(call) not in disputed]
    agentless.models = [model for model in agentless.models if id(model) not in disputed]


def _by_unseen_caller(agentless: RunSpans, ancestry: Ancestry) -> dict[bytes, RunSpans]:
    """Returns the calls of other processes by the id of their caller, of which no span was received.

    None of those that asked a model outside their tools: they decided themselves what to call, whoever called them.
    """
    served: dict[bytes, RunSpans] = {}
    for call in agentless.executions:
        caller = ancestry.ancestors_of(call[0].span_id).unseen_caller
        if caller:
            served.setdefault(caller, RunSpans(None, b"")).executions.append(call)
    for model in agentless.models if served else ():
        caller = ancestry.ancestors_of(model.span_id).unseen_caller
        if model.span_id not in agentless.asked_inside:
            served.pop(caller, None)
        elif caller in served:
            served[caller].models.append(model)
    return served


def _is_during(spans: RunSpans, run: RunSpans, skew_ns: int) -> bool:
    """Whether the first of these calls began during the run, by clocks that may differ by ``skew_ns``."""
    anchor, start_ns = run.anchor, spans.executions[0][0].start_ns
    return anchor is not None and anchor.start_ns - skew_ns <= start_ns <= anchor.end_ns + skew_ns


def _is_among(call: GenAISpan, shown: Mapping[str | None, GenAISpan]) -> bool:
    """Whether a call is of one of these tools, given by name."""
    return call.name in shown or any(is_same_tool(one, call) for one in shown.values())


def _claim_rest(agentless: RunSpans, runs: Sequence[RunSpans], seen_by: SeenBy, *, lacks_spans: bool) -> None:
    """Give what an instrumentation recorded besides spans that are a run's too to that run: the run lacks its own span.

    Where it recorded several runs at that time, each counts the calls as in doubt.
    """
    if len(runs) * (len(agentless.executions) + len(agentless.models)) > MAX_OWNERS_COMPARED:
        # A limit that is reached shows as a doubt: no run may pass for being too large to look at.
        agentless.incomplete = (*agentless.incomplete, "missing_anchor")
        return
    unclaimed = RunSpans(None, agentless.anchor_id)
    for span, alone in [
        *((call[0], _alone([call], [])) for call in agentless.executions),
        *((model, _alone([], [model])) for model in agentless.models),
    ]:
        checkpoint()
        owners = [run for run in runs if (id(run), span.scope) in seen_by and _may_enclose(run.anchor, span)]
        if owners and lacks_spans:
            owners = [run for run in runs if _may_enclose(run.anchor, span)]
        # Of runs inside one another the innermost made the call. Without a time, nothing says that it was under way.
        elif span.start_ns:
            owners = [run for run in owners if not any(other.parent is run for other in owners)]
        if len(owners) == 1:
            join(owners[0], alone)
        elif owners:
            for run in owners:
                run.disputed.append(alone)
        else:
            join(unclaimed, alone)
    agentless.executions, agentless.models = unclaimed.executions, unclaimed.models


def _alone(executions: list[list[GenAISpan]], models: list[GenAISpan]) -> RunSpans:
    spans = RunSpans(None, b"")
    spans.executions, spans.models = executions, models
    return spans


def _may_enclose(anchor: GenAISpan | None, span: GenAISpan) -> bool:
    """Whether the span may have been made during the run: by the clock, where one clock stamped both."""
    # Starts of two processes are not compared: their clocks may differ by more than the run lasts.
    if anchor is None or anchor.resource != span.resource or not span.start_ns or not anchor.start_ns:
        return True
    return anchor.start_ns <= latest_start(span.start_ns) and span.start_ns <= max(anchor.end_ns, anchor.start_ns)


def _members(run: RunSpans) -> Iterator[GenAISpan]:
    yield from run.models
    for call in run.executions:
        yield call[0]


def _is_recorded_twice(spans: RunSpans, runs: Iterable[RunSpans]) -> bool:
    """Whether an instrumentation recorded these spans that did not record those of the runs, or the reverse."""
    return len({span.instrumentation for run in (spans, *runs) for span in _members(run)}) > 1


def join(run: RunSpans, spans: RunSpans) -> None:
    """Make ``spans`` spans of ``run``."""
    run.executions += spans.executions
    run.models += spans.models
    run.enclosing.update(spans.enclosing)
    run.asked_inside.update(spans.asked_inside)


def _is_under_way(run: RunSpans, spans: RunSpans) -> bool:
    """Whether the run may have made these calls, by the time at which it happened."""
    anchor = run.anchor
    if anchor is None or not anchor.start_ns or not spans.executions:
        return anchor is not None and bool(spans.executions or spans.models)
    starts = [call[0].start_ns for call in spans.executions if call[0].resource == anchor.resource]
    return not starts or any(anchor.start_ns <= start <= anchor.end_ns for start in starts)
