"""Runs and model requests that two instrumentations recorded, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from collector.model import semconv
from collector.model.genai_span import GenAISpan
from collector.payloads.messages import tool_call_parts
from collector.payloads.values import parse_arguments
from collector.reconstruction.drafts import RunSpans, by_start, clock_of
from collector.reconstruction.duplicate_calls import call_ids, is_alike_but_for_time, likeness
from collector.reconstruction.frameworks import LITELLM
from collector.reconstruction.pairs import MAX_COMPARED, SeenBy, best_pairs, distance, have_times, overlap


def repeated_runs(runs: Sequence[RunSpans]) -> Iterator[tuple[RunSpans, RunSpans]]:
    """Yields pairs of runs that are one, recorded by two instrumentations: the one to keep, and the other."""
    anchored = [(run, run.anchor) for run in runs if run.anchor is not None and not is_around_agents(run)]
    if len({anchor.instrumentation for _, anchor in anchored}) < 2:
        return
    anchored.sort(key=lambda pair: by_start(pair[1]))
    # A library records a run once: two of its agents stay two runs, whatever third record resembles both.
    recorded_by = {id(run): {anchor.instrumentation} for run, anchor in anchored}
    group: dict[int, RunSpans] = {id(run): run for run, _ in anchored}
    for (one, _), (other, _) in best_pairs(anchored, _run_likeness, lambda pair: pair[1]):
        kept, absorbed = _head(one, group), _head(other, group)
        if kept is absorbed or not recorded_by[id(kept)].isdisjoint(recorded_by[id(absorbed)]):
            continue
        if _is_inside(kept, absorbed) or (kept.is_idle and not absorbed.is_idle and not _is_inside(absorbed, kept)):
            kept, absorbed = absorbed, kept
        recorded_by[id(kept)] |= recorded_by[id(absorbed)]
        group[id(absorbed)] = kept
        yield kept, absorbed


def is_around_agents(run: RunSpans) -> bool:
    """Whether its span is that of a graph that did nothing itself: the spans of the agents inside tell more."""
    is_graph = run.anchor is not None and run.anchor.tracing.identity == "graph"
    return is_graph and run.is_idle and bool(run.children)


def _head(run: RunSpans, group: dict[int, RunSpans]) -> RunSpans:
    while group[id(run)] is not run:
        run = group[id(run)]
    return run


def _run_likeness(one: tuple[RunSpans, GenAISpan], other: tuple[RunSpans, GenAISpan]) -> tuple[int, ...] | None:
    (run, anchor), (other_run, other_anchor) = one, other
    if anchor.name != other_anchor.name and None not in (anchor.name, other_anchor.name):
        return None
    if anchor.instrumentation == other_anchor.instrumentation:
        return None
    if _is_inside(other_run, run):
        # An agent that a tool started, or that is further inside, is a run of its own.
        if other_run.started_by is not None or other_run.parent is not run:
            return None
        # Some end before what they started: OpenLLMetry's for LlamaIndex with the first step of the agent.
        if not _are_simultaneous(one, other) and not _share_a_call(run, other_run):
            return None
    elif not _are_simultaneous(one, other) or _are_of_two_processes(anchor, other_anchor):
        return None
    if run.executions and other_run.executions:
        # Agents of one name may run side by side: they are one run only if they share a call.
        first = ((a, b) for a in run.executions[:MAX_COMPARED] for b in other_run.executions[:MAX_COMPARED])
        if not any(likeness(a, b) is not None or is_alike_but_for_time(a, b) for a, b in first):
            return None
    return (distance(anchor, other_anchor),)


def _share_a_call(run: RunSpans, other: RunSpans) -> bool:
    """Whether two instrumentations recorded one call, one of them as done by ``run``, and one by ``other``."""
    calls, others = run.executions[:MAX_COMPARED], other.executions[:MAX_COMPARED]
    return any(likeness(one, two) is not None for one in calls for two in others)


def _are_of_two_processes(one: GenAISpan, other: GenAISpan) -> bool:
    """Whether their resources say so: they name two hosts, or two pods or containers of one."""
    clock, other_clock = clock_of(one.resource), clock_of(other.resource)
    if None not in (clock, other_clock) and clock != other_clock:
        return True
    here, there = one.resource.attributes, other.resource.attributes
    return any(name in here and name in there and here[name] != there[name] for name in semconv.PROCESS_NAMES)


def _are_simultaneous(one: tuple[RunSpans, GenAISpan], other: tuple[RunSpans, GenAISpan]) -> bool:
    """Whether two runs happened at the same time; where a time is missing, whether they made the same calls."""
    (run, anchor), (other_run, other_anchor) = one, other
    if have_times(anchor, other_anchor):
        return overlap(anchor, other_anchor, of_longer=True) >= 0.8
    ids, other_ids = ({one for call in each.executions for one in call_ids(call)} for each in (run, other_run))
    if ids and other_ids:
        return not ids.isdisjoint(other_ids)
    names, other_names = (sorted(call[0].name or "" for call in each.executions) for each in (run, other_run))
    return bool(names) and names == other_names


def _is_inside(run: RunSpans, other: RunSpans) -> bool:
    above = run.parent
    for _ in range(MAX_COMPARED):
        if above is None or above is other:
            break
        above = above.parent
    return above is other


# --- model requests -------------------------------------------------------------------------------------------------------


def without_repeated_models(models: Sequence[GenAISpan]) -> list[GenAISpan]:
    """Returns ``models`` without those whose tool calls another instrumentation, or another span, recorded too."""
    # Around a request are functions and nodes of graphs that return its answer.
    if any(model.has_output and model.tracing.identity != "guessed" for model in models):
        models = [model for model in models if model.tracing.identity != "guessed"]
    if len({model.instrumentation for model in models if model.output is not None}) < 2:
        return list(models)
    dropped = {model.parent_span_id for model in models if model.dialect == LITELLM and model.has_output}
    dropped -= {model.span_id for model in models if model.scope == LITELLM}
    models = [model for model in models if model.span_id not in dropped]
    speaking = sorted([model for model in models if model.output is not None], key=by_start)
    for one, other in best_pairs(speaking, _model_likeness, lambda model: model):
        if one.span_id not in dropped and other.span_id not in dropped and _called(one) and _called(other):
            dropped.add(other.span_id)
    left = [model for model in speaking if model.span_id not in dropped]
    dropped |= {other.span_id for one, other in pairwise(left) if _is_streamed(one, other)}
    return [model for model in models if model.span_id not in dropped]


def _is_streamed(one: GenAISpan, other: GenAISpan) -> bool:
    """Whether the next request is the same, whose record the other library ended when the stream began (OpenInference's of
    LlamaIndex).
    """
    if one.instrumentation == other.instrumentation or one.parent_span_id != other.parent_span_id:
        return False
    calls, others = (
        [(part.id, part.name, parse_arguments(part.arguments)) for part in tool_call_parts(each.output)]
        for each in (one, other)
    )
    return bool(calls) and calls == others and all(call_id for call_id, _, _ in calls)


def _called(model: GenAISpan) -> list[str]:
    return [] if model.output is None else [part.name for part in tool_call_parts(model.output)]


def absorb_models(runs: Iterable[RunSpans], others: RunSpans) -> SeenBy:
    """Leave out the requests of ``others`` that another instrumentation recorded as requests of ``runs``."""
    owner = {model.span_id: run for run in runs for model in run.models}
    models = sorted([model for run in runs for model in run.models] + others.models, key=by_start)
    absorbed: dict[bytes, GenAISpan] = {}
    seen_by: SeenBy = set()
    for one, other in best_pairs(models, _model_likeness, lambda model: model):
        kept, repeated = (one, other) if one.span_id in owner else (other, one)
        if kept.span_id in owner and repeated.span_id not in owner and repeated.span_id not in absorbed:
            absorbed[repeated.span_id] = repeated
            seen_by.add((id(owner[kept.span_id]), repeated.scope))
            # Only one of the libraries captured the output, which may hold tool calls.
            if kept.output is None and repeated.output is not None:
                owner[kept.span_id].models.append(repeated)
    others.models = [model for model in others.models if model.span_id not in absorbed]
    return seen_by


def _model_likeness(one: GenAISpan, other: GenAISpan) -> tuple[int, ...] | None:
    if one.instrumentation == other.instrumentation or overlap(one, other, of_longer=True) < 0.8:
        return None
    calls, other_calls = _called(one), _called(other)
    return (distance(one, other),) if not calls or not other_calls or calls == other_calls else None
