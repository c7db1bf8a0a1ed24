"""What the inputs of a run's models tell of the calls that earlier answers requested."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from collector.model.genai_span import BY_SHAPE, GenAISpan
from collector.payloads.history import HistoryCall, calls_in_history
from collector.payloads.tool_results import ResultStatus, ToolResult
from collector.payloads.values import parse_arguments
from collector.reconstruction.drafts import DraftCall, by_start
from collector.reconstruction.requested_calls import MAX_CANDIDATES, MIN_ID, RequestedCall
from collector.reconstruction.told_calls import requests_told


def without_refused(model: GenAISpan, results: Sequence[ToolResult]) -> Sequence[ToolResult]:
    """Returns the results of a model's input without those of calls that were refused, where a call that runs leaves a span:
    under TanStack AI, whose answers lack what they asked for.
    """
    if model.tracing.extent != "around":
        return results
    return [one for one in results if one.refusal is None or not one.refusal.is_sure]


class CallHistory:
    """What the inputs of a run's models, which are sorted by start, tell of its calls; parsed only if asked for.

    An input holds the calls since the user's last message. It is compared with the requests before it from the end,
    because its beginning may have been left out.
    """

    def __init__(self, models: Sequence[GenAISpan], requests: Sequence[RequestedCall], *, is_ordered: bool) -> None:
        self._models, self._is_ordered = models, is_ordered
        self._has_transcript = any(model.is_transcript for model in models)
        self._index = {model.span_id: index for index, model in enumerate(models)}
        self._requests = list(requests)
        self._statuses: dict[int, ResultStatus] | None = None
        self._are_ids_kept = False
        self._places: dict[int, _Place] = {}
        self._unanswered: set[int] = set()
        self._told: set[int] = set()
        self._told_by: dict[bytes, frozenset[int]] = {}
        self._transcribed: set[int] = set()
        self._used_answers: set[bytes] = set()
        self._unused: frozenset[bytes] | None = None
        self._unread: list[str] = []
        self._unasked: list[ToolResult] = []

    def status(self, request: RequestedCall) -> ResultStatus | None:
        """Returns the status of a call's result in the first later input that holds it, None if none does."""
        return request.result_status or self._read().get(id(request))

    def is_discarded(self, request: RequestedCall) -> bool:
        """Whether the model was asked the same again, and this answer was never used."""
        after = self._index[request.model.span_id] + 1
        is_repeated = any(_have_same_input(model, request.model) for model in self._models[after : after + 1])
        return is_repeated and bool(self._read())

    def is_unanswered(self, request: RequestedCall) -> bool:
        """Whether a later input holds the call without a result, and goes on to the results of others: it never ran."""
        self._read()
        return id(request) in self._unanswered

    def is_left_out(self, request: RequestedCall) -> bool:
        """Whether a later input holds other calls of the same answer, or of one beside it, and none holds this one: it was not
        taken.
        """
        self._read()
        answer = request.model.span_id
        return id(request) not in self._told and (answer in self._used_answers or answer in self.unused_answers())

    def unused_answers(self) -> frozenset[bytes]:
        """Returns the requests of whose answers later inputs hold nothing, and which were made at once with others of whose
        they do: a vote, or a second attempt that began before the first had ended.
        """
        if self._unused is None:
            found: set[bytes] = set()
            for group in _asked_at_once(self._requests):
                self._read()
                if not group.isdisjoint(self._used_answers):
                    found |= group - self._used_answers
            self._unused = frozenset(found)
        return self._unused

    def is_of_another(self, request: RequestedCall) -> bool:
        """Whether the conversation in the agent's span lacks this call in words: an agent without a span may have made it."""
        if not self._has_transcript or request.id is not None or request.model.is_transcript:
            return False
        self._read()
        return id(request) not in self._transcribed

    @property
    def is_partly_unread(self) -> bool:
        """Whether the transcript of a run holds messages that could not be parsed."""
        self._read()
        return bool(self._unread)

    def has_unasked_results(self, calls: Sequence[DraftCall]) -> bool:
        """Whether an input holds results of calls that it does not hold, and that are none of ``calls`` by their ids."""
        self._read()
        ids = {call.id for call in calls} - {None}
        unknown = {result.call_id for result in self._unasked} - ids
        return bool(unknown - {None} if ids else unknown and not calls)

    def unrequested(self) -> list[RequestedCall]:
        """Returns the calls with a result that no recorded output requested, and numbers the turns of all anew.

        The turn is -1 where nothing tells whether such a call came before or after another of the run.
        """
        self._read()
        found = [request for request in self._requests if not request.is_recorded]
        if found:
            places = [
                self._places.get(id(one), (self._index[one.model.span_id], 1, one.turn)) for one in self._requests
            ]
            turns = {place: turn for turn, place in enumerate(sorted(set(places) - {_ANYWHERE}))}
            for request, place in zip(self._requests, places, strict=True):
                request.turn = turns.get(place, -1)
        return found

    def _read(self) -> Mapping[int, ResultStatus]:
        if self._statuses is None:
            self._statuses = {}
            self._are_ids_kept = self._tells_own_ids()
            for model in self._models:
                if model.history is not None:
                    # Where a transcript is all that tells of the calls, one that is read in part may lack some.
                    unread = self._unread if model.is_transcript else None
                    unasked: list[ToolResult] = []
                    self._compare(model, calls_in_history(model.history, unread, unasked), self._statuses)
                    self._unasked += without_refused(model, unasked)
        return self._statuses

    def _tells_own_ids(self) -> bool:
        """Whether the last input tells of a call by the id of its own that it was requested with: so do all of them, then."""
        newest = next((model.history for model in reversed(self._models) if model.history is not None), None)
        told = {call.id for call in calls_in_history(newest)} if newest is not None else set()
        return any(one.id is not None and len(one.id) >= MIN_ID and one.id in told for one in self._requests)

    def _compare(self, model: GenAISpan, history: Sequence[HistoryCall], statuses: dict[int, ResultStatus]) -> None:
        before = [request for request in self._requests if self._may_know(model, request.model)]
        before = self._own_requests(model, history, before) + before
        # A step whose events are its calls repeats none of another: what has an id of its own is a call of its own.
        is_step = model.tracing.extent == "memory" and model.dialect == BY_SHAPE
        if is_step:
            before = [one for one in before if one.id is not None or _overlap(one.model, model)]
        is_loop = model.tracing.extent == "loop"
        is_beside_others = is_loop and any(_overlap(one.model, model) for one in before)
        if is_loop:
            before = []
        matched = requests_told(history, before, only_by_id=is_step, are_ids_kept=self._are_ids_kept)
        last = max((at for at, call in enumerate(history) if call.status is not None), default=-1)
        for at, (call, known) in enumerate(zip(history, matched, strict=True)):
            if known is not None:
                self._note_told(known, model)
            if known is not None and call.status is not None:
                _note_status(known, call.status, statuses)
            elif known is not None and at < last:
                self._unanswered.add(id(known))
            if known is not None and (known.id == call.id is not None or call.ran_with is not None):
                _complete(known, call)
        places = self._places_in(model, history, before, matched)
        if is_beside_others:
            places = [_ANYWHERE] * len(history)
        recorded = [one is not None and one.is_recorded for one in matched]
        answered = {call.turn for call, is_recorded in zip(history, recorded, strict=True) if is_recorded}
        told = [id(one) for one in matched if one is not None]
        for at, call in enumerate(history):
            if matched[at] is None and call.status is not None:
                arguments, text = parse_arguments(call.arguments)
                found = RequestedCall(call.id, call.name, arguments, text, -1, at, model, None, call.status, False)
                found.made_before = self._made_before(model, places[at], is_beside=call.turn in answered)
                self._places[id(found)] = places[at]
                self._requests.append(found)
                told.append(id(found))
        self._told_by[model.span_id] = frozenset(told)

    def _made_before(self, model: GenAISpan, place: _Place, *, is_beside: bool) -> GenAISpan | None:
        """Returns the first request that was made after a call of this place, of which ``model`` was told, beside one that an
        answer holds or not. Not the last of all: some tracers write an input down when what came after it is in there, and
        no other is left to tell of that.
        """
        first = model if place == _ANYWHERE or is_beside else self._models[place[0]]
        return None if first is self._models[-1] else first

    def _note_told(self, request: RequestedCall, model: GenAISpan) -> None:
        self._told.add(id(request))
        if model.is_transcript:
            self._transcribed.add(id(request))
        if request.is_recorded:
            self._used_answers.add(request.model.span_id)

    def _own_requests(
        self, model: GenAISpan, history: Sequence[HistoryCall], before: Iterable[RequestedCall]
    ) -> list[RequestedCall]:
        """Returns what the model requested and was told of within one span, which then covers several requests.

        An id that a provider may use again proves that of the same words alone, and not where an earlier answer is unknown.
        """
        told = {call.id: call for call in history}
        ids = told.keys() - {request.id for request in before} - {None}
        own = [request for request in self._requests if request.model is model and request.id in ids] if ids else []
        if all(request.id is not None and len(request.id) >= MIN_ID for request in own):
            return own
        earlier = self._models[: self._index[model.span_id]]
        if any(one.output is None and not one.is_transcript for one in earlier):
            return []
        return [one for one in own if _is_same(one, told[one.id])]

    def _may_know(self, model: GenAISpan, other: GenAISpan) -> bool:
        """Whether a model may be told of what ``other`` requested: an earlier request, or one inside its own span.

        Where nothing tells which request came first, it may be any other.
        """
        if not self._is_ordered:
            return other is not model
        return self._index[other.span_id] < self._index[model.span_id] or model.start_ns < other.start_ns < model.end_ns

    def _places_in(
        self,
        model: GenAISpan,
        history: Sequence[HistoryCall],
        before: Sequence[RequestedCall],
        matched: Sequence[RequestedCall | None],
    ) -> list[_Place]:
        """Returns the place of each call's turn: before the request whose input holds it, or that of the next such call.

        It is unknown if the run requested other calls meanwhile, in another conversation, or if it was told of some after the
        latest request that may have asked for this one: an agent without a span, inside the call.
        """
        same = {id(request) for request in matched}
        latest = self._latest_that_may_ask(model, same)
        foreign = sorted({
            index for one in before
            if ((index := self._index[one.model.span_id]) > latest or one.is_recorded) and id(one) not in same
        })  # fmt: skip
        places: list[_Place] = []
        previous = -1
        known = [self._index[one.model.span_id] if one is not None and one.is_recorded else None for one in matched]
        last = self._models[max(0, self._index[model.span_id] - 1)]
        is_of_one_answer = model.tracing.extent == last.tracing.extent == "unsaid"
        for at, call in enumerate(history):
            following = next((index for index in known[at:] if index is not None), self._index[model.span_id])
            after = bisect_right(foreign, previous)
            is_unsure = after < len(foreign) and foreign[after] < following
            turn = 0 if is_of_one_answer else call.turn
            places.append(_ANYWHERE if is_unsure or call.turn < 0 else (following, 0, turn))
            if (same_call := matched[at]) is not None:
                previous = self._index[same_call.model.span_id]
        return places

    def _latest_that_may_ask(self, model: GenAISpan, told: set[int]) -> int:
        """Returns the index of the latest request before ``model`` whose conversation may be the same: none that was told of
        a call which ``model``, told of those of these ids, was not. Some of the newest are looked at.
        """
        before = self._index[model.span_id] - 1
        for at in range(before, max(-1, before - MAX_CANDIDATES), -1):
            if self._told_by.get(self._models[at].span_id, _NONE) <= told:
                return at
        return before - MAX_CANDIDATES


_NONE: Final[frozenset[int]] = frozenset()
_Place = tuple[int, int, int]
"""Sort key of a turn: index of a request to the model; 0 for turns just before it, 1 for its own; number."""
_ANYWHERE: Final[_Place] = (-1, 0, 0)


def _asked_at_once(requests: Iterable[RequestedCall]) -> Iterator[set[bytes]]:
    """Yields the models of one tracer that were asked one before the other had answered, and all asked for calls."""
    answers = {one.model.span_id: one.model for one in requests if one.is_recorded and not one.model.is_transcript}
    group: set[bytes] = set()
    end_ns = 0
    scope = ""
    for model in sorted(answers.values(), key=by_start):
        if model.start_ns >= end_ns or model.scope != scope:
            if len(group) > 1:
                yield group
            group, end_ns, scope = set(), 0, model.scope
        group.add(model.span_id)
        end_ns = max(end_ns, model.end_ns)
    if len(group) > 1:
        yield group


def _overlap(one: GenAISpan, other: GenAISpan) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns


def _note_status(request: RequestedCall, status: ResultStatus, statuses: dict[int, ResultStatus]) -> None:
    """Note what an input tells of a call. The first tells, unless the call was still under way then."""
    if request.result_status == "open":
        request.result_status = status
    if statuses.get(id(request), "open") == "open":
        statuses[id(request)] = status


def _complete(request: RequestedCall, told: HistoryCall) -> None:
    """Take the arguments from a later input where the answer has none: of a stream some tracers record only the names.

    Those that a result repeats are what the call ran with, whatever the answer asked for.
    """
    if told.ran_with is not None or (not request.arguments and request.arguments_text is None):
        arguments = told.arguments if told.ran_with is None else told.ran_with
        request.arguments, request.arguments_text = parse_arguments(arguments)


def _is_same(request: RequestedCall, told: HistoryCall) -> bool:
    return request.name == told.name and request.arguments in (None, {}, parse_arguments(told.arguments)[0])


def _have_same_input(model: GenAISpan, other: GenAISpan) -> bool:
    """Whether two models were asked the same; of requests that tell of no calls only the user's words are kept."""
    if model.history is None and other.history is None:
        return model.user_input is not None and bool(model.user_input == other.user_input)
    return bool(model.history == other.history)
