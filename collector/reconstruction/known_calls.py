"""Which runs of a trace know a call: those whose models requested it or were told of it, and those whose spans show it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from collector.checkpoints import checkpoint
from collector.model.genai_span import GenAISpan
from collector.model.tracing import WAITS
from collector.payloads.history import calls_in_history
from collector.payloads.tool_results import may_contain_results
from collector.payloads.user_input import resumes_run
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import RunSpans, by_start, clock_of, latest_start
from collector.reconstruction.frameworks import BEGIN_WITH_CALLS
from collector.reconstruction.requested_calls import MAX_CANDIDATES, MIN_ID, RequestedCall, requested_calls


class CallIds:
    """The ids of the calls that spans requested, executed, and were told of: messages prove by them what belongs together."""

    def __init__(self, *runs: RunSpans) -> None:
        self._requested: dict[str, RequestedCall] = {}
        self._known: set[str] = set()
        self._unread = list(runs)

    def add(self, run: RunSpans) -> None:
        """Add the ids of ``run``, whose spans must not be taken from it."""
        self._unread.append(run)

    @property
    def requested(self) -> dict[str, RequestedCall]:
        """What was requested, by id."""
        self._read()
        return self._requested

    @property
    def known(self) -> set[str]:
        """The ids of what was executed, or told of."""
        self._read()
        return self._known

    def _read(self) -> None:
        # On demand: to read messages takes longer than all else, and where one span is missing there is nothing to compare.
        unread, self._unread = self._unread, []
        for run in unread:
            if run.models:
                calls = requested_calls(sorted(run.models, key=by_start))
                self._requested |= {call.id: call for call in calls if call.id is not None}
            self._known |= {call_id for spans in run.executions if (call_id := spans[0].call_id) is not None}
            for model in run.models:
                if model.history is not None:
                    self._known |= {call.id for call in calls_in_history(model.history) if call.id is not None}

    def match(self, other: CallIds) -> bool:
        """Whether one of the two requested what the other executed or was told of."""
        common = self.requested.keys() & other.known | self.known & other.requested.keys()
        return any(self.means_same(other, call_id) for call_id in common)

    def means_same(self, other: CallIds, call_id: str) -> bool:
        """Whether an id is not of two calls: some providers number the calls of each answer, and begin anew in the next."""
        one, another = self.requested.get(call_id), other.requested.get(call_id)
        if one is None or another is None:
            return True
        is_unknown = one.arguments is None or another.arguments is None
        return one.name == another.name and (is_unknown or one.arguments == another.arguments)


class Owners:
    """Finds, of many runs, those whose messages prove that spans are theirs."""

    def __init__(self, runs: Sequence[RunSpans]) -> None:
        # By call id, so that finding an owner does not compare every orphan with every run. Dicts serve as sets, since
        # runs are mutable and not hashable.
        self._requested: dict[str | None, dict[int, RunSpans]] = {}
        self._known: dict[str | None, dict[int, RunSpans]] = {}
        self._ids: dict[int, CallIds] = {}
        for run in runs:
            checkpoint()
            ids = self._ids[id(run)] = CallIds(run)
            for call_id in ids.requested:
                self._requested.setdefault(call_id, {})[id(run)] = run
            for call_id in ids.known:
                self._known.setdefault(call_id, {})[id(run)] = run

    def requesters(self, call_id: str | None) -> list[RunSpans]:
        """Returns the runs that requested the call of this id."""
        return list(self._requested.get(call_id, {}).values())

    def of(self, ids: CallIds) -> list[RunSpans]:
        """Returns the runs that requested what is known by these ids, or know what these requested."""
        found: dict[int, RunSpans] = {}
        if not (self._requested or self._known):
            return []
        proofs = [(call_id, self._requested) for call_id in ids.known]
        proofs += [(call_id, self._known) for call_id in ids.requested]
        for call_id, by_id in proofs:
            runs = by_id.get(call_id, {})
            if len(runs) <= MAX_CANDIDATES:  # of more than a few, an id singles out none
                found |= {at: run for at, run in runs.items() if self._ids[at].means_same(ids, call_id)}
        return list(found.values())


def begins_with_results(run: RunSpans) -> bool:
    """Whether a run may have begun with results of calls that were made before it."""
    # The input of a run holds what was called before it; its own calls are not in there yet.
    anchor = run.anchor
    if anchor is None or anchor.user_input is None or anchor.user_input is anchor.history:
        return False  # nothing tells what it began with, or one attribute holds the whole conversation
    return may_contain_results(anchor.user_input)


def is_given_answer(run: RunSpans) -> bool:
    """Whether the span of a run tells that it was given the answer for which one before it waited; or a second one does, before
    which the run did nothing: OpenLLMetry has two of LangGraph's.
    """
    if run.anchor is not None and resumes_run(run.anchor.user_input):
        return True
    given = [span.start_ns for span in run.wrappers if resumes_run(span.user_input)]
    if not given:
        return False
    began = [*(model.start_ns for model in run.models), *(spans[0].start_ns for spans in run.executions)]
    return min(given) <= min(began, default=min(given))


def _ids_in_conversation(run: RunSpans) -> list[str | None]:
    """Returns the ids of the calls that the agent's own span holds, if it holds the conversation with its model."""
    if run.anchor is None or run.anchor.history is None:
        return []
    return [call.id for call in calls_in_history(run.anchor.history)]


_Answer = tuple[int, int]
"""A run, by ``id``, and which of its answers; -1 where only the execution of a call is known."""


class _Known(NamedTuple):
    """A call that a run has."""

    answer: _Answer
    arguments: Arguments
    id: str | None
    span: GenAISpan
    """Its execution, or the request whose answer asked for it."""


def _is_after(known: _Known, told: RequestedCall) -> bool:
    """Whether a call was asked for when a model had been told of another, by one clock: it is not that one."""
    is_later = known.span.start_ns > told.model.end_ns >= told.model.start_ns > 0
    return is_later and not told.model.is_transcript and clock_of(known.span.resource) == clock_of(told.model.resource)


class _AgentTimes:
    """When the runs of one agent began, and when those of them that may wait for an answer ended; sorted, in ns."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends_of_waiting: list[int] = []
        self.waiting: set[bytes] = set()
        """The ids of the spans of those that may wait."""

    def add(self, run: RunSpans, anchor: GenAISpan) -> None:
        """Add a run."""
        insort(self.starts, anchor.start_ns)
        if _may_wait(anchor) or says_that_it_waits(run):
            insort(self.ends_of_waiting, anchor.end_ns)
            self.waiting.add(anchor.span_id)


def says_that_it_waits(run: RunSpans) -> bool:
    """Whether the run's span tells that it waits, or its last answer, or a span inside that is of the same run, after which no
    model was asked: OpenLLMetry has two of an agent of LangChain.
    """
    if run.anchor is not None and run.anchor.is_pending:
        return True
    if run.models and max(run.models, key=by_start).is_pending:
        return True
    waiting = [span.end_ns for span in run.wrappers if span.is_pending]
    return bool(waiting) and all(model.start_ns < max(waiting) for model in run.models)


def waits(anchor: GenAISpan) -> bool:
    """Whether a run's span tells that it ended to wait for an answer."""
    return anchor.call_id is not None or anchor.is_pending or anchor.tracing.outcome in WAITS


def _may_wait(anchor: GenAISpan) -> bool:
    """Whether a run may have ended to wait for an answer."""
    return waits(anchor) or anchor.scope in BEGIN_WITH_CALLS


class KnownCalls:
    """The calls that the models of a trace's runs requested or its spans show, so far as they identify a call."""

    def __init__(self, runs: Sequence[RunSpans] = ()) -> None:
        self.runs = runs
        self.lacking: set[int] = set()
        """The parents, by ``id``, of runs with calls that may be unrecorded, and nothing tells of which of its runs."""
        self.going_on: dict[int, bool] = {}
        """By the ``id`` of each run that was asked about, whether it goes on in the trace."""
        # Read on demand: it parses the arguments of all calls, and most traces never ask.
        self._ids: dict[str, set[int]] | None = None
        self._named: dict[str, list[_Known]] = {}
        self._sizes: Counter[_Answer] = Counter()
        self._agents: dict[str | None, _AgentTimes] | None = None
        self._pending: set[bytes] | None = None
        self._earliest_start = self._latest_start = 0

    def without_others(
        self, told: Sequence[RequestedCall], run: RunSpans, own: Collection[str] = ()
    ) -> list[RequestedCall]:
        """Returns the calls that ``run`` was told of and no other run has: by an id of its own, or with all calls of its turn,
        for which one answer asked. Those with an id of ``own`` are its own, whoever asked for them.
        """
        others: set[int] = set()
        turns: dict[int, list[RequestedCall]] = {}
        for number, one in enumerate(told):
            turns.setdefault(one.turn if one.turn >= 0 else -1 - number, []).append(one)
        for of_turn in turns.values():
            open_ones = [one for one in of_turn if one.execution is None and one.id not in own]
            is_of_other = bool(open_ones) and self._is_answer_of_other(of_turn, run)
            others.update([id(one) for one in open_ones if is_of_other or self._has_id(one, run)])
        return [one for one in told if id(one) not in others]

    def _is_answer_of_other(self, turn: Sequence[RequestedCall], run: RunSpans) -> bool:
        """Whether an answer of another run asked for these calls, and for no others where this run executed some of them."""
        answers = self._answers(turn[0], run)
        for one in turn[1:]:
            answers &= self._answers(one, run)
        is_executed = any(one.execution is not None for one in turn)
        return any(not is_executed or self._sizes[answer] == len(turn) for answer in answers)

    def _has_id(self, told: RequestedCall, run: RunSpans) -> bool:
        """Whether another run has a call by an id of its own."""
        return told.id is not None and len(told.id) >= MIN_ID and not self._by_id().get(told.id, set()) <= {id(run)}

    def _answers(self, told: RequestedCall, run: RunSpans) -> set[_Answer]:
        """Returns the answers of other runs that asked for such a call, among the first MAX_CANDIDATES of its name."""
        self._by_id()  # reads `_named`
        return {
            known.answer
            for known in self._named.get(told.name, ())[:MAX_CANDIDATES]
            if known.answer[0] != id(run)
            and (known.arguments is None or known.arguments == told.arguments)
            and (None in (known.id, told.id) or known.id == told.id)
            and not _is_after(known, told)
        }

    def note_lacking(self) -> None:
        """Find runs that were told, by what they began with, of a call that no run has: one before them lacks it."""
        told_before: set[str | None] = set()  # by the agents' own conversations, each of which is read once, if at all
        read = 0
        for number, run in enumerate(self.runs):
            if number == 0 or run.anchor is None or not begins_with_results(run):
                continue
            told = {call.id for call in calls_in_history(run.anchor.user_input) if call.status is not None} - {None}
            missing = told - self._by_id().keys()
            if missing:
                for earlier in self.runs[read:number]:
                    told_before.update(_ids_in_conversation(earlier))
                read = number
            if not missing <= told_before:
                self.lacking.add(id(run.parent))

    @property
    def was_read(self) -> bool:
        """Whether the calls of one run were looked for in others."""
        return self._ids is not None

    def has_run_after(self, anchor: GenAISpan) -> bool:
        """Whether another run of its agent began when this one of the trace's had ended."""
        starts = self._times_of(anchor).starts
        later = len(starts) - bisect_left(starts, anchor.end_ns)
        return later > (anchor.start_ns >= anchor.end_ns)

    def has_later_run(self, anchor: GenAISpan) -> bool:
        """Whether another run, of any agent, began when this one of the trace's ended, or later."""
        self._times_of(anchor)
        return latest_start(self._latest_start) >= anchor.end_ns and self._latest_start > anchor.start_ns

    def has_run_before(self, anchor: GenAISpan) -> bool:
        """Whether another run of its agent began before this one of the trace's."""
        return bisect_left(self._times_of(anchor).starts, anchor.start_ns) > 0

    def is_first(self, anchor: GenAISpan) -> bool:
        """Whether no run of the trace, of any agent, began before this one."""
        self._times_of(anchor)
        return self._earliest_start >= anchor.start_ns

    def has_waiting_before(self, anchor: GenAISpan) -> bool:
        """Whether another run of its agent, which may wait for an answer, had ended when this one of the trace's began."""
        times = self._times_of(anchor)
        earlier = bisect_right(times.ends_of_waiting, anchor.start_ns)
        return earlier > (anchor.span_id in times.waiting and anchor.end_ns <= anchor.start_ns)

    def is_awaited_around(self, run: RunSpans) -> bool:
        """Whether what is around a run waits with it: another run, or the call in that which started this one."""
        outer = run.parent
        if outer is None or outer.anchor is None:
            return False
        if self._pending is None:  # by span id, once for all runs
            self._pending = {one[0].span_id for each in self.runs for one in each.executions if one[-1].is_pending}
        return waits(outer.anchor) or run.started_by in self._pending

    def _times_of(self, anchor: GenAISpan) -> _AgentTimes:
        if self._agents is None:  # one pass over all runs, and not one for each that asks
            self._agents = defaultdict(_AgentTimes)
            starts = [run.anchor.start_ns for run in self.runs if run.anchor is not None]
            self._earliest_start, self._latest_start = min(starts, default=0), max(starts, default=0)
            for run in self.runs:
                checkpoint()
                if run.anchor is not None:
                    self._agents[run.anchor.name].add(run, run.anchor)
        return self._agents[anchor.name]

    def _by_id(self) -> dict[str, set[int]]:
        if self._ids is None:
            self._ids = self._read()
        return self._ids

    def _read(self) -> dict[str, set[int]]:
        ids: dict[str, set[int]] = {}
        for run in self.runs:
            owner = id(run)
            requested = requested_calls(sorted(run.models, key=by_start))
            calls = [(call.name, _Known((owner, call.turn), call.arguments, call.id, call.model)) for call in requested]
            calls += [
                (s[0].name or "", _Known((owner, -1), parse_arguments(s[0].arguments)[0], s[0].call_id, s[0]))
                for s in run.executions
            ]
            for name, known in calls:
                if known.id is not None:
                    ids.setdefault(known.id, set()).add(owner)
                self._named.setdefault(name, []).append(known)
                self._sizes[known.answer] += 1
        return ids
