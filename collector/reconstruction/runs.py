"""Groups the spans of a trace into agent runs.

A run is an agent span and its subtree. A tool execution belongs to the nearest agent above it, whatever steps, chains and
model spans are in between. An execution directly below another of the same tool, with no agent between, is the same call
recorded again (framework > MCP client > MCP server), unless several succeeded there under another name. A run that only
contains one agent span of the same name, or without a name, is that agent's wrapper; one that only asked models while the
only agent inside it made calls, in the same process, is a part of that agent's run. Spans without an agent form one more
run, anchored at the trace's root or at the earliest span. What two instrumentations recorded counts once
(`duplicate_calls`, `duplicate_runs`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from collector.checkpoints import checkpoint, in_parts
from collector.model.genai_span import AGENT, MODEL, OTHER, SESSION, TOOL, GenAISpan
from collector.model.span_copies import copy_of
from collector.model.tracing import USUAL
from collector.payloads.messages import tool_call_parts
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.disputed_calls import disputed_groups, merge_disputed
from collector.reconstruction.drafts import RunSpans, by_start
from collector.reconstruction.duplicate_calls import is_nested_call, merge_repeated_calls, without_steps
from collector.reconstruction.duplicate_runs import without_repeated_models
from collector.reconstruction.idle_runs import without_handoffs, without_workflows
from collector.reconstruction.nested_runs import with_nested_runs
from collector.reconstruction.ownership import (
    adopt,
    dispute_served,
    give_to_inner,
    reclaim,
    take_from_callers,
    take_streamed,
)
from collector.reconstruction.parted_runs import doubt_parted
from collector.reconstruction.tool_names import is_mcp
from collector.reconstruction.united_runs import MAX_WRAPPERS, united


def group_runs(spans: dict[bytes, GenAISpan], ancestry: Ancestry, skew_ns: int) -> list[RunSpans]:
    """Returns the runs of one trace, sorted by the start of their anchors; ``spans`` are sorted by start.

    The clocks of two hosts may differ by ``skew_ns``.
    """
    found: list[RunSpans] = []
    run_of: dict[bytes, RunSpans] = {}
    # Every agent has its run before any call is assigned: by the clock, a call may start before the agent around it.
    for part in in_parts(spans.values()):
        for span in part:
            if span.role is AGENT and span.span_id not in run_of:
                _open_run(span, ancestry, run_of, found)
    calls: dict[bytes, list[GenAISpan]] = {}
    orphans = _assign(spans, ancestry, run_of, calls)
    checkpoint()
    if len(found) > 1:
        take_from_callers(found)
        found = united(found)
    checkpoint()
    # After runs were united: two recordings of one run would both claim an orphan, and leave its owner in doubt.
    agentless = _adopt(orphans, found, spans, ancestry) if orphans else None
    if found and agentless is not None:
        take_streamed(agentless, found)
        reclaim(agentless, found, lacks_spans=any(orphans))
        dispute_served(agentless, found, ancestry, skew_ns)
    checkpoint()
    runs = found if agentless is None else [*found, agentless]
    _merge_all_repeated(runs, calls, ancestry)
    checkpoint()
    # In a loop of its own: the call that started a run is another run's, whose spans were merged only just now.
    for run in runs:
        if run.started_by is not None or run.enclosing or run.asked_inside:
            _use_outermost_ids(run, calls)
    if len(found) > 1 or (found and agentless is not None and agentless.executions):
        # Last: both are told by having done nothing, and what was adopted or reclaimed above counts as done.
        found = without_handoffs(without_workflows(found))
    if agentless is not None and _is_run(agentless, bool(found)):
        _set_anchor(agentless, spans, ancestry)
        _take_graphs(agentless, spans, ancestry)
        if not _is_called_elsewhere(agentless):
            found.append(agentless)
    runs = with_nested_runs(found)
    if len(runs) > 1:
        doubt_parted(runs)
    return runs


def _is_called_elsewhere(agentless: RunSpans) -> bool:
    """Whether what the spans tell was done by the agent of another trace, which has its calls too: a session, or what a
    server of tools recorded of one call."""
    anchor = agentless.anchor
    if anchor is None or anchor.role is SESSION:
        return anchor is not None
    is_alone = len(agentless.executions) == 1 and not agentless.models and not agentless.disputed
    return anchor.tracing.extent == "served" and is_alone and agentless.executions[0][0] is anchor


def _adopt(
    orphans: Mapping[bytes, RunSpans], found: Sequence[RunSpans], spans: Mapping[bytes, GenAISpan], ancestry: Ancestry
) -> RunSpans | None:
    root = spans.get(ancestry.root() or b"")
    return adopt(orphans, found, has_root=root is not None and root.role not in (AGENT, TOOL))


def _assign(
    spans: dict[bytes, GenAISpan],
    ancestry: Ancestry,
    run_of: dict[bytes, RunSpans],
    calls: dict[bytes, list[GenAISpan]],
) -> dict[bytes, RunSpans]:
    """Assign each tool execution and model request to its agent's run. Returns those without one, by missing ancestor.

    Fills ``calls`` with all spans of a call, by the id of each of its spans.
    """
    agentless: dict[bytes, RunSpans] = {}
    for part in in_parts(spans.values()):
        for span in part:
            role = span.role
            if role is not TOOL and role is not MODEL:
                continue
            ancestors = ancestry.ancestors_of(span.span_id)
            if ancestors.agent is not None:
                run = run_of[ancestors.agent.span_id]
            else:
                known = agentless.get(ancestors.missing)
                run = agentless[ancestors.missing] = RunSpans(None, b"") if known is None else known
            if role is MODEL:
                run.models.append(span)
                if ancestors.tool is not None and _asks_during(span, ancestors.tool):
                    run.asked_inside[span.span_id] = ancestors.tool.span_id
            elif span.span_id in calls:
                continue  # by the clock, one inside it started first
            elif ancestors.tool is None:
                calls[span.span_id] = call = [span]
                run.executions.append(call)
            else:
                _open_nested_call(span, ancestry, calls, run)
    return agentless


def _asks_during(model: GenAISpan, tool: GenAISpan) -> bool:
    """Whether the request was made by the tool: below its span, and before it ended. Some tracers never leave a span.

    An agent that goes on when the call has ended which started it is known by its name.
    """
    if tool.role is not TOOL:
        return False
    return 0 < model.start_ns < tool.end_ns or (tool.tracing.extent == "nested" and model.agent is not None)


def _is_run(agentless: RunSpans, has_agents: bool) -> bool:
    """Whether spans without an agent are a run: beside agents, a model request without tool calls is none."""
    # A model may be asked beside the agent for something else, such as a title for the chat.
    return (
        bool(agentless.executions or agentless.disputed)
        or not has_agents
        or any(model.output is not None and tool_call_parts(model.output) for model in agentless.models)
    )


def _open_run(agent: GenAISpan, ancestry: Ancestry, run_of: dict[bytes, RunSpans], found: list[RunSpans]) -> None:
    """Open the run of ``agent`` and those of the agents above it, outermost first."""
    # Agents above may start later, by the clock of another host. They are opened first, so that `found` lists outer
    # runs before inner ones, which later passes rely on. Where parents form a cycle, `nested` ends the walk.
    nested = {agent.span_id: agent}
    outer = ancestry.ancestors_of(agent.span_id).agent
    while outer is not None and outer.span_id not in run_of and outer.span_id not in nested:
        nested[outer.span_id] = outer
        outer = ancestry.ancestors_of(outer.span_id).agent
    for inner in reversed(nested.values()):
        ancestors = ancestry.ancestors_of(inner.span_id)
        parent = None if ancestors.agent is None else run_of.get(ancestors.agent.span_id)
        run_of[inner.span_id] = run = RunSpans(inner, inner.span_id, parent)
        found.append(run)
        if parent is not None:
            parent.children.append(run)
        if ancestors.tool is not None:
            run.started_by = ancestors.tool.span_id
        if ancestors.missing:
            run.incomplete, run.missing_ancestor = ("missing_parent",), ancestors.missing


def _is_inside(outer: GenAISpan, span: GenAISpan, calls: Mapping[bytes, Sequence[GenAISpan]]) -> bool:
    """Whether ``span`` records the call of ``outer``, which may be a client's that does not tell which tool it calls."""
    if outer.name is not None or not is_mcp(outer):
        return is_nested_call(outer, span)
    named = next((one for one in calls.get(outer.span_id, ()) if one.name is not None), None)
    return is_mcp(span) if named is None else is_nested_call(named, span)


def _open_nested_call(span: GenAISpan, ancestry: Ancestry, calls: dict[bytes, list[GenAISpan]], run: RunSpans) -> None:
    """Add ``span`` together with the executions above it that record the same call, outermost first."""
    # By the clock an inner record may start first: all that record the call are taken at once, outermost first.
    nested = {span.span_id: span}
    outer = ancestry.ancestors_of(span.span_id).tool
    while (
        outer is not None
        and _is_inside(outer, span, calls)
        and outer.span_id not in calls
        and outer.span_id not in nested
    ):
        nested[outer.span_id] = outer
        outer = ancestry.ancestors_of(outer.span_id).tool
    call = calls.get(outer.span_id) if outer is not None and _is_inside(outer, span, calls) else None
    if call is None:
        call = []
        run.executions.append(call)
        if outer is not None:
            # A dict keeps insertion order, so its last key is the outermost record of this call.
            run.enclosing[next(reversed(nested))] = outer.span_id
    for execution in reversed(nested.values()):
        call.append(execution)
        calls[execution.span_id] = call


def _merge_all_repeated(runs: Sequence[RunSpans], calls: dict[bytes, list[GenAISpan]], ancestry: Ancestry) -> None:
    """Merge what two instrumentations recorded of each run; one of them may have recorded it as another's, or as nobody's."""
    disputed = disputed_groups(runs)
    for spans in (*runs, *disputed):
        _merge_repeated(spans, calls, ancestry)
    if disputed:
        calls.update([(span.span_id, call) for call in merge_disputed(runs, disputed) for span in call])
    for run in runs:
        if run.children:
            calls.update([(span.span_id, call) for call in give_to_inner(run) for span in call])


def _merge_repeated(run: RunSpans, calls: dict[bytes, list[GenAISpan]], ancestry: Ancestry) -> None:
    """Merge what two instrumentations recorded of this run, and refer to its calls by their outermost spans."""
    run.executions = without_steps([call for call in run.executions if call])  # one that was merged elsewhere is empty
    merge_repeated_calls(run)
    several = [call for call in run.executions if len(call) > 2 and _holds_several(call, ancestry)]
    parts = [(call[0].span_id, part) for call in several for part in _divide(call, ancestry)]
    if parts:
        run.executions = sorted([*run.executions, *(part for _, part in parts)], key=lambda call: by_start(call[0]))
        run.enclosing |= {part[0].span_id: outer for outer, part in parts}
        run.repeated = {*run.repeated, *(part[0].span_id for _, part in parts)}
        calls.update((span.span_id, part) for _, part in parts for span in part)
    if len(run.models) > 1:
        run.models = without_repeated_models(_without_parts(run.models))
    for call in run.executions:
        if len(call) > 1:
            calls.update((span.span_id, call) for span in call)


def _without_parts(models: list[GenAISpan]) -> list[GenAISpan]:
    """Returns ``models`` with the pieces of each answer as one, and without those of answers that others of them hold whole.

    Pieces below a request of whose answer nothing else tells are the answer of that request.
    """
    if all(model.tracing.extent != "part" for model in models):
        return models
    whole = sorted(
        [model for model in models if model.tracing.extent != "part" and model.output is not None], key=by_start
    )
    starts = [model.start_ns for model in whole]
    kept: list[GenAISpan] = []
    answers: dict[bytes, GenAISpan] = {}
    in_pieces = {model.parent_span_id for model in models if model.tracing.extent == "part"}
    for model in sorted(models, key=by_start):
        at = bisect_right(starts, model.start_ns)
        if model.tracing.extent != "part":
            kept.append(model)
            if model.output is None and model.span_id in in_pieces:
                answers[model.span_id] = kept[-1] = copy_of(model)  # the trace keeps its spans for a revision
                kept[-1].output, kept[-1].has_output = [], True
        elif at and whole[at - 1].end_ns >= model.start_ns:
            continue
        elif (answer := answers.get(model.parent_span_id)) is not None:
            answer.output, answer.end_ns = [*answer.output, model.output], max(answer.end_ns, model.end_ns)
        else:
            answers[model.parent_span_id] = answer = copy_of(model)
            answer.output = [model.output]
            kept.append(answer)
    return kept


def _outermost_inside(call: Sequence[GenAISpan], ancestry: Ancestry) -> list[tuple[bytes, GenAISpan]]:
    """Returns the outermost spans of another name inside ``call``, each with the id of the span of its name around it."""
    own = {span.span_id for span in call if span.name in (None, call[0].name)}
    found: list[tuple[bytes, GenAISpan]] = []
    for span in call:
        tool = None if span.span_id in own else ancestry.ancestors_of(span.span_id).tool
        if tool is not None and tool.span_id in own:
            found.append((tool.span_id, span))
    return found


def _holds_several(call: Sequence[GenAISpan], ancestry: Ancestry) -> bool:
    """Whether a tool succeeded more than once inside one whose name only ends like its own: `deep_search` may ask a server
    for `search` three times, while a framework that puts the server's name before it asks once.
    """
    inside = _outermost_inside(call, ancestry)
    # Of two libraries each records the one call.
    succeeded = Counter([(outer, span.instrumentation) for outer, span in inside if span.status != "error"])
    return any(count > 1 for count in succeeded.values())


def _divide(call: list[GenAISpan], ancestry: Ancestry) -> list[list[GenAISpan]]:
    """Take the calls of another name out of ``call``, and return them: they may be parts of it."""
    parts = [[span] for _, span in _outermost_inside(call, ancestry)]
    part_of = {part[0].span_id: part for part in parts}
    for span in call[1:]:  # outermost first
        tool = None if span.span_id in part_of else ancestry.ancestors_of(span.span_id).tool
        if tool is not None and (part := part_of.get(tool.span_id)) is not None:
            part.append(span)
            part_of[span.span_id] = part
    call[:] = [span for span in call if span.span_id not in part_of]
    return parts


def _use_outermost_ids(run: RunSpans, calls: Mapping[bytes, list[GenAISpan]]) -> None:
    """Refer to the calls that started this run, or enclose its executions, by their outermost spans."""
    if run.started_by is not None and run.started_by in calls:
        run.started_by = calls[run.started_by][0].span_id
    if run.enclosing:
        run.enclosing = {inner: outer for inner, outer in _outermost(run.enclosing, calls) if inner != outer}
    if run.asked_inside:
        run.asked_inside = dict(_outermost(run.asked_inside, calls))


def _outermost(inside: Mapping[bytes, bytes], calls: Mapping[bytes, list[GenAISpan]]) -> Iterator[tuple[bytes, bytes]]:
    for inner, outer in inside.items():
        yield (
            calls[inner][0].span_id if inner in calls else inner,
            calls[outer][0].span_id if outer in calls else outer,
        )


def _take_graphs(agentless: RunSpans, spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> None:
    """Note the graphs below the root that no agent is around: each tells how it began and ended, and of its tools."""
    for span in spans.values():
        if span.role is not OTHER or span.tracing is USUAL or span.span_id == agentless.anchor_id:
            continue
        # As `note_graph` tells it of graphs that may call tools in ways of their own, and of LangChain's agents.
        is_graph = span.tracing.identity == "graph" or span.tracing.outcome == "hooked"
        is_own = is_graph and ancestry.ancestors_of(span.span_id).agent is None
        if is_own and len(agentless.wrappers) < MAX_WRAPPERS:
            agentless.wrappers.append(span)


def _set_anchor(agentless: RunSpans, spans: Mapping[bytes, GenAISpan], ancestry: Ancestry) -> None:
    root = ancestry.root()
    anchor = None if root is None else spans.get(root)
    is_tool = anchor is not None and anchor.role is TOOL
    # The server side of a tool call may be the only root received: it answers one of these calls, and made none.
    is_above = not (is_tool and agentless.missing_ancestor) and (anchor is None or anchor.role is not AGENT)
    if root is not None and is_above:
        agentless.anchor, agentless.anchor_id = anchor, root
        if anchor is not None and is_tool and not anchor.remote_parent:
            agentless.incomplete = (*agentless.incomplete, "missing_anchor")  # whoever called it is in another trace
    else:
        groups = agentless.disputed if agentless.is_idle else [agentless]
        left = [span for one in groups for span in (*one.models, *(call[0] for call in one.executions))]
        if not left and root is not None:  # agents that only their names said to be some, and nothing that they did
            agentless.anchor, agentless.anchor_id = anchor, root
            return
        # A model request made from a log event has a longer id, which begins with that of the span it names.
        agentless.anchor_id = min(left, key=by_start).span_id[:8]
        agentless.incomplete = (*agentless.incomplete, "missing_anchor")
