"""Whether requests to models may be missing that asked for calls of a run: what models were told later holds those as well.

Inputs grow with every turn, so that to read all of them is quadratic. They are read only where something is missing that
they alone can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.tracing import WAITS
from collector.payloads.messages import tool_call_parts
from collector.payloads.response import response_text
from collector.payloads.result_counts import may_tell_of_more
from collector.payloads.tool_results import may_contain_results
from collector.payloads.user_input import is_approval
from collector.payloads.values import parse_any
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.known_calls import KnownCalls, is_given_answer
from collector.reconstruction.requested_calls import RequestedCall

_AT_LIMIT: Final = re.compile(
    r"Sorry, need more steps|(?:'[^']{1,64}' t|T)ool call limit reached\b|Model call limits? exceeded\b"
)
"""How begins what agents of LangGraph and LangChain (1.5) answer in place of the calls that a limit does not let them make."""


def may_lack_requests(
    run: RunSpans,
    known: KnownCalls,
    models: Sequence[GenAISpan],
    requested: Sequence[RequestedCall],
    calls: Iterable[DraftCall],
) -> bool:
    """Whether the inputs of ``models`` may tell of calls that neither their outputs nor spans show."""
    return (
        _may_be_told(run, models, requested)
        or (bool(requested) and _has_unasked_calls(calls))
        or _newest_tells_of_more(run, known, models, requested)
    )


def _may_be_told(run: RunSpans, models: Sequence[GenAISpan], requested: Iterable[RequestedCall]) -> bool:
    if all(model.history is None for model in models):
        return False
    # Each line is a sign that something is missing.
    return (
        not run.executions
        or bool(run.disputed)
        or any(request.execution is None for request in requested)
        or not all(model.has_output for model in models[:-1])
        # The run goes on with what an earlier trace asked for, once a human has answered.
        or any(spans[0].start_ns < models[0].start_ns for spans in run.executions)
        or (run.anchor is not None and (is_approval(run.anchor.user_input) or is_given_answer(run)))
        or (models[0].history is not None and (models[0].user_input is None or may_contain_results(models[0].history)))
    )


def _has_unasked_calls(calls: Iterable[DraftCall]) -> bool:
    """Whether there is a call that no recorded answer asked for: the request that did was lost, perhaps with other calls."""
    return any(call.turn < 0 and call.enclosing_id is None and call.doubt is None for call in calls)


def _newest_tells_of_more(
    run: RunSpans, known: KnownCalls, models: Sequence[GenAISpan], requested: Sequence[RequestedCall]
) -> bool:
    """Whether the newest input seems to hold results of more calls than recorded answers asked for: the spans of all that is
    missing were lost, as with a batch that an exporter gave up. After a handoff an agent is told of the calls of another.
    """
    # The newest alone: it repeats all that the others hold, unless its beginning was left out.
    newest = next((model.history for model in reversed(models) if model.history is not None), None)
    if type(newest) is not str or not may_tell_of_more(newest, len(requested)):
        return False
    return run.anchor is None or known.is_first(run.anchor)


def was_answered_later(
    run: RunSpans, known: KnownCalls, models: Sequence[GenAISpan], requested: Sequence[RequestedCall]
) -> bool:
    """Whether an agent gave an answer that is in none of its recorded requests, and the last of these asked for a call of which
    nothing else tells: all that followed was lost, the call as well, if it ran. ``models`` are in order.
    """
    anchor = run.anchor
    if not (run.answer and requested and anchor is not None):
        return False
    last = max(requested, key=attrgetter("turn")).model
    if any(one.start_ns >= last.end_ns for one in models) or last.is_transcript:
        return False
    asked_last = [one for one in requested if one.model is last]
    if all(one.execution is not None or one.provided is not None for one in asked_last):
        return False
    # Each line is another reason for an answer that no request gave.
    if (
        anchor.status == "error"
        or anchor.call_id is not None
        or anchor.tracing.outcome in WAITS
        or run.ended_before_calls
        or run.goes_on
        or run.children
        or known.has_later_run(anchor)
    ):
        return False
    answer = None if tool_call_parts(run.answer) else response_text(run.answer)
    return answer is not None and not _AT_LIMIT.match(answer) and not _said(answer, last, asked_last)


def _said(answer: str, model: GenAISpan, asked: Iterable[RequestedCall]) -> bool:
    """Whether a request gave an answer, beside the calls that it asked for or in the form of one of them."""
    if answer in (response_text(model.output) or ""):
        return True
    structure = parse_any(answer)
    return any(
        structure == one.arguments
        or any(type(value) is str and answer in value for value in (one.arguments or {}).values())
        for one in asked
    )


def note_told_by_outputs(runs: Sequence[RunSpans], known: KnownCalls, drafts: Sequence[Sequence[DraftCall]]) -> None:
    """Note the runs of which the agent's output tells of more calls than it made, so far as is known, with all agents below it.

    An agent that others went before may tell of theirs, and one that goes on in other traces of those there. Outer ones are
    first in ``runs``.
    """
    if not any(run.told_results for run in runs):
        return
    made: dict[int, int] = {}
    # Inner runs first, so that each adds what is below it to the one around it: one pass, however deep agents are nested.
    for run, calls in zip(reversed(runs), reversed(drafts), strict=True):
        own = made.get(id(run), 0) + len(calls)
        if run.parent is not None:
            made[id(run.parent)] = made.get(id(run.parent), 0) + own
        if run.told_results > own and run.anchor is not None and not run.goes_on and known.is_first(run.anchor):
            run.has_unrecorded_calls = True
