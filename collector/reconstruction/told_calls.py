"""Which requests the calls are that an input of a model tells of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from collector.payloads.history import HistoryCall
from collector.payloads.tool_results import ResultStatus
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.requested_calls import MAX_CANDIDATES, MIN_ID, RequestedCall


def requests_told(
    history: Sequence[HistoryCall], requests: Sequence[RequestedCall], *, only_by_id: bool, are_ids_kept: bool
) -> list[RequestedCall | None]:
    """Returns the request of each call: by id, or by name where ids are missing or others, the last with the last.

    By name those with equal arguments come first: of what is left, arguments may have been written in another way.
    """
    # Only ids that both sides have can match. Frameworks may send results under other ids, which match by name.
    ids = {request.id for request in requests} - {None}
    history_ids = {call.id for call in history} - {None}
    own_names = {(call.id, call.name) for call in history}
    whole = dict(_whole_answers(history, () if only_by_id else requests, ids))
    taken = {id(request) for request in whole.values()}
    by_id: dict[str | None, list[RequestedCall]] = {}
    by_name: dict[str, list[RequestedCall]] = {}
    for request in [one for one in requests if id(one) not in taken]:
        if request.id in history_ids:
            by_id.setdefault(request.id, []).append(request)
        elif request.is_recorded or not history_ids or request.id is None or len(request.id) < MIN_ID:
            # Of two inputs of one framework, a call has the same id in both.
            by_name.setdefault(request.name, []).append(request)
    found: list[RequestedCall | None] = [whole.get(at) for at in range(len(history))]
    unmatched: list[int] = []
    # From the end, where input and requests meet: the beginning of an input may have been left out.
    for at in [at for at in reversed(range(len(history))) if at not in whole]:
        call = history[at]
        if call.id in ids:
            same = by_id.get(call.id, [])
            # A framework may have changed the name, unless another call of this id has it: a provider may use ids again.
            renamed = (one for one in reversed(same) if (one.id, one.name) not in own_names)
            named = next((one for one in reversed(same) if one.name == call.name), None) or next(renamed, None)
            if named is not None:
                same.remove(named)
            found[at] = named
            continue
        if only_by_id and call.id is not None:
            continue
        candidates = by_name.get(call.name, [])
        near = range(len(candidates) - 1, max(-1, len(candidates) - 1 - MAX_CANDIDATES), -1)
        arguments = parse_arguments(call.arguments)[0] if near else None
        place = next(
            (
                one
                for one in near
                if candidates[one].arguments == arguments
                and _may_have(candidates[one], call.status)
                and not _are_two(call, candidates[one], are_ids_kept=are_ids_kept)
            ),
            None,
        )
        if place is None:
            unmatched.append(at)
        else:
            found[at] = candidates.pop(place)
    for at in unmatched:
        candidates = by_name.get(history[at].name, [])
        if candidates and not _are_two(history[at], candidates[-1], are_ids_kept=are_ids_kept):
            found[at] = candidates.pop()
    return found


def _are_two(call: HistoryCall, request: RequestedCall, *, are_ids_kept: bool) -> bool:
    """Whether the ids tell two calls apart: both have ids of their own, and such ids of others agree, or no framework makes
    them up, as of what the provider of the model ran.
    """
    if not (are_ids_kept or request.by_provider):
        return False
    return all(one is not None and len(one) >= MIN_ID for one in (call.id, request.id))


def _whole_answers(
    history: Sequence[HistoryCall], requests: Iterable[RequestedCall], ids: Collection[str | None]
) -> list[tuple[int, RequestedCall]]:
    """Returns the requests of turns that hold just the calls of an answer, each with its place in ``history``.

    Where no ids tell equal calls of several turns apart, those beside them do.
    """
    turns: dict[int, list[int]] = {}
    for at, call in enumerate(history):
        if call.id is None or call.id not in ids or len(call.id) < MIN_ID:
            turns.setdefault(call.turn, []).append(at)
    if len(turns) <= 1:
        return []
    answers: dict[bytes, list[RequestedCall]] = {}
    for request in requests:
        if request.is_recorded:
            answers.setdefault(request.model.span_id, []).append(request)
    if len(turns) > len(answers):
        return _aligned(history, list(turns.values()), list(answers.values()), ids)
    by_names: dict[tuple[str, ...], list[list[RequestedCall]]] = {}
    for answer in answers.values():
        by_names.setdefault(tuple([request.name for request in answer]), []).append(answer)
    found: list[tuple[int, RequestedCall]] = []
    for turn in sorted(turns, reverse=True):
        alike = by_names.get(tuple([history[at].name for at in turns[turn]]), [])
        asked = _told(history, turns[turn] if alike else ())
        for place in range(len(alike) - 1, max(-1, len(alike) - 1 - MAX_CANDIDATES), -1):
            if _worth(asked, alike[place], ids) == _SURE:
                found += zip(turns[turn], alike.pop(place), strict=True)
                break
    return found


def _aligned(
    history: Sequence[HistoryCall],
    turns: Sequence[Sequence[int]],
    answers: Sequence[Sequence[RequestedCall]],
    ids: Collection[str | None],
) -> list[tuple[int, RequestedCall]]:
    """Returns the same where an answer is missing: as many turns as can be those of answers in the same order.

    By position, or by ids that are used again, its results may seem to be those of others, so they count less.
    """
    turns, answers = turns[-MAX_CANDIDATES:], answers[-MAX_CANDIDATES:]
    told = [_told(history, turn) for turn in turns]
    worths = [[_worth(asked, answer, ids) for answer in answers] for asked in told]
    best = [[0] * (len(answers) + 1) for _ in range(len(turns) + 1)]
    for row, line in enumerate(worths):
        for column, worth in enumerate(line):
            best[row + 1][column + 1] = max(best[row][column + 1], best[row + 1][column], best[row][column] + worth)
    found: list[tuple[int, RequestedCall]] = []
    row, column = len(turns), len(answers)
    while row and column:
        worth = worths[row - 1][column - 1]
        if worth and best[row][column] == best[row - 1][column - 1] + worth:
            row, column = row - 1, column - 1
            for at, request in zip(turns[row], answers[column], strict=True):
                if not _may_have(request, history[at].status):
                    request.result_status = history[at].status
                found.append((at, request))
        elif best[row][column] == best[row][column - 1]:
            column -= 1
        else:
            row -= 1
    return found


_Told = tuple[HistoryCall, Arguments]
"""A call that was told, with its arguments parsed once for all answers that it is compared with."""


def _told(history: Sequence[HistoryCall], turn: Iterable[int]) -> list[_Told]:
    return [(history[at], parse_arguments(history[at].arguments)[0]) for at in turn]


_SURE: Final = 3
"""What it is worth that a turn is an answer by all that either tells; without what became of its calls, one less."""


def _worth(asked: Sequence[_Told], answer: Sequence[RequestedCall], ids: Collection[str | None]) -> int:
    """Returns how sure it is that the calls of a turn that was told are those of an answer; 0 if they are not."""
    if [call.name for call, _ in asked] != [request.name for request in answer]:
        return 0
    is_sure = True
    for (call, arguments), request in zip(asked, answer, strict=True):
        if (call.id in ids and call.id != request.id) or arguments != request.arguments:
            return 0
        is_sure = is_sure and _may_have(request, call.status)
    return _SURE if is_sure else _SURE - 1


def _may_have(request: RequestedCall, status: ResultStatus | None) -> bool:
    """Whether a result of this status may be that of the request: of two equal calls each has a result of its own."""
    return request.result_status is None or status is None or request.result_status == status
