"""Whether the models of a run requested calls that neither messages nor spans tell of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.payloads.cut_values import is_cut, names_call
from collector.payloads.messages import is_unreadable, may_contain_tool_calls
from collector.payloads.tool_results import results_told
from collector.reconstruction.automatic_calls import may_lack_calls
from collector.reconstruction.call_history import without_refused
from collector.reconstruction.calls_without_span import is_client_of
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.frameworks import HIDE_CALLS_OF_PROVIDER, LEAVE_OUT_HOSTED
from collector.reconstruction.requested_calls import RequestedCall

_DELEGATIONS: Final = frozenset({
    "Delegate work to coworker", "Ask question to coworker", "delegate_work_to_coworker", "ask_question_to_coworker",
})  # fmt: skip
"""By which an agent of CrewAI has another do a part of its task, inside the call."""
_MAX_INSIDE: Final = 8
"""Through how many requests at once one before them is looked for."""


def has_unseen_coworker(run: RunSpans, calls: Iterable[DraftCall]) -> bool:
    """Whether an agent of CrewAI handed over to another of which nothing is recorded: tools that are called in words leave no
    spans (OpenInference 1.1), and the conversation of an agent does not hold that of its coworker.
    """
    if run.children or not all(model.is_transcript for model in run.models):
        return False
    return any(
        call.name in _DELEGATIONS and call.span_id is None and call.executed and call.status != "error"
        for call in calls
    )


def is_transcript_of_part(run: RunSpans) -> bool:
    """Whether an agent's conversation lacks what it did first, and no spans of tools or requests show that either."""
    is_of_part = run.anchor is not None and run.anchor.tracing.extent == "some"
    return is_of_part and not run.executions and all(model.is_transcript for model in run.models)


def has_unrecorded_calls(run: RunSpans, models: Sequence[GenAISpan], requested: Sequence[RequestedCall]) -> bool:
    """Whether a model must have requested tools, and neither messages nor a span of a tool that ran then says which."""
    lacking = may_lack_calls(models, requested)
    if lacking:
        # Those that an input tells of are no part of the answer of the same request.
        requested = [one for one in requested if not one.is_recorded or one.model.span_id not in lacking]
    speaking = {request.model.span_id for request in requested}
    unreadable = {
        model.span_id
        for model in models
        if model.output is not None
        and model.span_id not in speaking
        and (model.finish != "other" or names_call(model.output))  # which its provider ran, perhaps
        and is_unreadable(model.output)
        and not (run.has_spans_of_all and _tells_of_none(model.output))
    }
    asking = {model.span_id for model in models if model.finish == "tool_calls"}
    asking.update(model.parent_span_id for model in models if model.tracing.extent == "nested")
    if run.ended_before_calls:
        asking.discard(models[-1].span_id)
    if _may_have_searched(models, requested) or _lacks_hosted(models) or _hides_calls_of_provider(run):
        return True
    if _is_told_of_more(run, models) or _calls_in_code(run, models):
        return True
    has_unsaid = any(model.span_id in asking and model.span_id not in speaking for model in models)
    has_failed = run.anchor is not None and run.anchor.status == "error"
    is_complete = (
        not unreadable and not has_unsaid and not lacking and all(model.output is not None for model in models[:-1])
    )
    if is_complete and not has_failed:
        return False
    models = [model for model in models if not model.is_transcript]
    # A span of a loop tells of all that was asked for meanwhile, which another instrumentation may leave out.
    told = {one.model.span_id: one.model for one in requested if one.is_recorded or one.model.tracing.extent == "loop"}
    told |= _told_later([model for model in models if model.span_id not in told], requested, unreadable)
    telling = {request.model.span_id for request in requested if not request.is_recorded}
    told |= {
        model.span_id: model
        for model, later in pairwise(models)
        if later.span_id in telling and _precedes(model, later)
    }
    answered, silent = _answered_and_silent(run, models, told.values())
    refused = {model.span_id for model, later in pairwise(models) if _are_refused(model, later)}
    silent = [(model, later) for model, later in silent if model.span_id not in refused]
    if any(model.span_id in asking or model.span_id in unreadable for model, _ in silent):
        return True
    if lacking and not run.executions:
        # Another instrumentation may have recorded the whole answer, inside.
        whole = {model.parent_span_id for model in models if model.span_id not in lacking and _is_recorded(model)}
        if any(model.span_id in lacking and model.span_id not in whole for model, _ in silent):
            return True
    if has_failed and any(later is None and _is_cut_off(model, models) for model, later in silent):
        return True
    if is_complete or any(model.has_output or model.output is not None for model in models):
        return False
    # No output was captured. Some providers give the same reason whether tools are requested or not.
    if all(model.span_id in asking for model in answered):
        return False
    gaps = [model for model, later in silent if later is not None and _is_followed(model, later)]
    return 0 < len(gaps) <= len(answered)


def _answered_and_silent(
    run: RunSpans, models: Sequence[GenAISpan], told: Collection[GenAISpan]
) -> tuple[list[GenAISpan], list[tuple[GenAISpan, GenAISpan | None]]]:
    """Returns the requests after which something began that has a span, and those after which nothing did and of which
    none of ``told`` tells, each with the next.
    """
    began = sorted(
        [spans[0].start_ns for spans in run.executions]
        + [child.anchor.start_ns for child in run.children if child.anchor is not None]
        + [one.start_ns for one in told if one.tracing.extent == "loop"]
    )
    answered: list[GenAISpan] = []
    silent: list[tuple[GenAISpan, GenAISpan | None]] = []
    starts = [model.start_ns for model in models]
    told_starts, told_ends = _times_of(told)
    shared: set[int] = set()  # what began with the next request, by a coarse clock, is the answer of one of the two
    for index, model in enumerate(models):
        following = max(index + 1, bisect_right(starts, model.end_ns))  # not one inside it, of another instrumentation
        later = models[following] if following < len(models) else None
        # What began before the next request was asked for by this one: a span shows it.
        at = bisect_left(began, model.start_ns)
        while at in shared and began[at] == model.start_ns:
            at += 1
        if at < len(began) and (later is None or began[at] <= later.start_ns):
            answered.append(model)
            if later is not None and began[at] == later.start_ns:
                shared.add(at)
            continue
        begun = bisect_right(told_starts, model.end_ns)
        if not begun or told_ends[begun - 1] < model.start_ns:
            silent.append((model, later))
    return answered, silent


def _are_refused(model: GenAISpan, later: GenAISpan) -> bool:
    """Whether the next request tells that each call was refused that this one asked for: TanStack AI asks again only with a
    result for each.
    """
    if model.tracing.extent != "around" or later.tracing.extent != "around" or not later.tool_results:
        return False
    # An answer without a text is no message there, so that the results of several turns follow one another.
    own = later.tool_results[len(model.tool_results or ()) :]
    return bool(own) and not without_refused(model, own)


def _calls_in_code(run: RunSpans, models: Iterable[GenAISpan]) -> bool:
    """Whether models answered with code that may call tools, and nothing shows what it called."""
    return not run.is_of_code and not run.executions and any(model.tracing.extent == "code" for model in models)


def _is_told_of_more(run: RunSpans, models: Sequence[GenAISpan]) -> bool:
    """Whether a request tells of more results than there are spans of calls: middleware of TanStack AI that comes before its
    tracer's has answered in place of a tool, or changed its arguments, and such a call has no span.
    """
    if all(model.tracing.extent != "around" for model in models):
        return False
    made = Counter(spans[0].parent_span_id for spans in run.executions)
    before = 0
    for model, later in pairwise(models):
        told = results_told(later.history) if later.tracing.extent == "around" else []
        if model.tracing.extent == "around" and len(without_refused(model, told[before:])) > made[model.span_id]:
            return True
        before = len(told)
    return False


def may_have_lost_calls(run: RunSpans, models: Sequence[GenAISpan], requested: Sequence[RequestedCall]) -> bool:
    """Whether spans may be missing beside those of other calls, and no messages of a model tell that it asked for them: their
    tracer writes none of calls that failed, or of those that an agent made that its provider runs.
    """
    for spans in run.executions:  # without a generator for each run: nearly none is of such a tracer
        if spans[0].tracing.traced_calls == "succeeded":
            break
        if spans[0].tracing.traced_calls == "own":
            return all(one.execution is None or one.execution.span_id != spans[0].span_id for one in requested)
    else:
        return False
    speaking = {request.model.span_id for request in requested}
    if run.turns_are_ordered:  # the next request tells what came of all that an answer asked for
        told = (
            model for model, later in pairwise(models) if later.tool_results is not None and later.history is not None
        )
        speaking.update(model.span_id for model in told)
    return not models or any(
        model.finish == "tool_calls" or not (model.finish or model.has_output or model.tool_results is not None)
        for model in models
        if model.span_id not in speaking
    )


def _may_have_searched(models: Sequence[GenAISpan], requested: Iterable[RequestedCall]) -> bool:
    """Whether the last answer was not recorded, and the provider ran calls in others, of which no span tells and no reason:
    it may have done so in this one.
    """
    if not any(one.by_provider for one in requested):
        return False
    at = len(models) - 1
    while at > 0 and _is_seen_twice(models, at):
        at -= 1
    last = models[at] if models else None
    if last is None or last.output is not None or last.has_output:
        return False
    return not last.is_transcript and last.status != "error"


def _lacks_hosted(models: Sequence[GenAISpan]) -> bool:
    """Whether an answer may lack calls that the provider ran, and none has it whole, inside or around."""
    lacking = [
        model
        for at, model in enumerate(models)
        if model.tracing.extent == "hosted" and not _is_seen_twice(models, at, whole=True)
    ]
    if not lacking:
        return False
    whole = [model for model in models if not _may_lack_hosted(model)]
    inside, around = {model.parent_span_id for model in whole}, {model.span_id for model in whole}
    return any(model.span_id not in inside and model.parent_span_id not in around for model in lacking)


def _is_seen_twice(models: Sequence[GenAISpan], at: int, *, whole: bool = False) -> bool:
    """Whether a request is that of a client inside one of those just before it, or beside that; if ``whole``, one whose answer
    lacks nothing."""
    before = models[max(at - _MAX_INSIDE, 0) : at]
    return any(is_client_of(models[at], model) and not (whole and _may_lack_hosted(model)) for model in before)


def _may_lack_hosted(model: GenAISpan) -> bool:
    return model.tracing.extent == "hosted" or model.scope in LEAVE_OUT_HOSTED or not _is_recorded(model)


def _hides_calls_of_provider(run: RunSpans) -> bool:
    """Whether an agent had tools that its provider runs, which leave no spans: of Microsoft's framework, where no content was
    captured; or of OpenAI's SDK under Weave, whose answers lack them.
    """
    anchor = run.anchor
    return anchor is not None and anchor.scope in HIDE_CALLS_OF_PROVIDER and anchor.tracing.extent == "some"


def _times_of(models: Iterable[GenAISpan]) -> tuple[list[int], list[int]]:
    """Returns when requests began, in order, and for each when the last had ended of those that had begun by then."""
    times = sorted([(model.start_ns, model.end_ns) for model in models])
    return [start for start, _ in times], list(accumulate([end for _, end in times], max))


def _told_later(
    models: Iterable[GenAISpan], requested: Iterable[RequestedCall], unreadable: Container[bytes]
) -> dict[bytes, GenAISpan]:
    """Returns the requests of whose answers a later input tells: of several, where only the longest input was kept."""
    turns: dict[bytes, set[int]] = {}
    for request in requested:
        if not request.is_recorded:
            turns.setdefault(request.model.span_id, set()).add(request.turn)
    found: dict[bytes, GenAISpan] = {}
    open_ones: list[GenAISpan] = []
    for model in models if turns else ():
        for _ in turns.get(model.span_id, ()):
            if open_ones:
                asked = _pop_before(open_ones, model)
                found[asked.span_id] = asked
        if model.finish == "tool_calls" or not model.has_output or model.span_id in unreadable:
            open_ones.append(model)
    return found


def _precedes(model: GenAISpan, later: GenAISpan) -> bool:
    """Whether it is not the same request, seen by a client inside or around, though the span of a stream may end late."""
    return model.end_ns <= later.start_ns or model.scope == later.scope


def _pop_before(open_ones: list[GenAISpan], later: GenAISpan) -> GenAISpan:
    """Removes and returns the last that was asked before ``later``."""
    last = len(open_ones) - 1
    for index in range(last, max(last - _MAX_INSIDE, -1), -1):
        if _precedes(open_ones[index], later):
            return open_ones.pop(index)
    return open_ones.pop()


def _is_recorded(model: GenAISpan) -> bool:
    return model.has_output or model.finish != ""


def _is_followed(model: GenAISpan, later: GenAISpan) -> bool:
    """Whether the model had answered when it was asked again, most likely because its answer requested tools."""
    return model.status != "error" and model.end_ns <= later.start_ns


def _tells_of_none(output: object) -> bool:
    """Whether the end of an answer was cut off, and what is left tells of no call: one that ran has a span, where all have."""
    return is_cut(output) and not may_contain_tool_calls(output)


def _is_cut_off(model: GenAISpan, models: Iterable[GenAISpan]) -> bool:
    """Whether the answer of a request was not recorded, and those before it were: a stream that was not read to its end. Or
    of all of them a part was, which tells of no call.

    The program may have read a request for a tool from it, and failed with that (magentic under Logfire).
    """
    is_silent = not model.has_output and not model.finish and model.status != "error"
    return is_silent and (
        model.tracing.extent == "some" or any(one.has_output and one.scope == model.scope for one in models)
    )
