"""Calls whose arguments were not captured, wholly or in part: a published score stands only where it does whatever they were.

The originals take arguments as they come. To them a call without any is wrong, or has none, and a mask is a value as any other.
So what may have been in their place is tried: what the rule expects, what nothing expects, the same in all calls, and nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, islice, product
from typing import Any, Final

from scorers.call_scorer import OriginalError
from scorers.doubts import MAX_ALTERNATIVES, undecided
from scorers.quoting import shorten
from scorers.rules.masks import has_mask, with_filled_masks
from scorers.score import Score
from scorers.trajectory import ToolCall
from scorers.work import Work

PlainCall = Mapping[str, Any]
ScoreCalls = Callable[[Sequence[PlainCall]], Score]

_NOTHING: Final = object()  # not even null
_TOO_MANY: Final = "its arguments, which were not captured, can be read in more ways than are tried"


class _Wanted:
    """The arguments that a rule expects of calls, by tool, and those that the options of a scorer ask of any call."""

    def __init__(self, expected: Sequence[PlainCall], asked: Sequence[Mapping[str, Any]]) -> None:
        self.expected = [call for call in expected if isinstance(call.get("args"), Mapping)]
        self.asked = asked

    def of(self, tool: str) -> list[Any]:
        return [*(call["args"] for call in self.expected if call["tool"] == tool), *self.asked]


class _Unseen:
    """A call of which arguments are unseen: none of them is known, or some values are masked."""

    def __init__(self, call: PlainCall, at: int, wanted: Sequence[Any], work: Work) -> None:
        self.at, self.tool, self._call, self._wanted, self._work = at, call["tool"], call, wanted, work
        self._args: Any = call.get("args", _NOTHING)
        self.is_constrained = bool(wanted)

    def is_unseen(self) -> bool:
        if self._args is _NOTHING:
            return True
        return (
            has_mask(self._args, self._work)
            and with_filled_masks(self._args, self._wanted, _NOTHING, self._work) != self._args
        )

    def strange(self, text: str) -> PlainCall:
        """Returns the call with this text for what is unseen, which equals nothing that anybody expects."""
        args = {text: text} if self._args is _NOTHING else with_filled_masks(self._args, self._wanted, text, self._work)
        return {**self._call, "args": args}

    def as_wanted(self, args: Any, text: str) -> PlainCall:
        """Returns the call with the arguments that are wanted, so far as what was seen of its own allows."""
        if self._args is not _NOTHING:
            args = with_filled_masks(self._args, [args], text, self._work, takes=True)
        return {**self._call, "args": args}

    def without(self) -> PlainCall:
        """Returns the call without arguments, if none of its own is known."""
        return {**self._call, "args": {}} if self._args is _NOTHING else self._call


def score_unseen(
    score: ScoreCalls,
    sides: tuple[Sequence[PlainCall], Sequence[PlainCall]],
    asked: Sequence[Mapping[str, Any]],
    recorded_calls: Sequence[tuple[int, ToolCall]],
    work: Work,
) -> Score:
    """Returns the score of the calls made, undecided where it depends on arguments that were not captured.

    ``sides`` are the calls expected and made; the latter are ``recorded_calls``, each with its index in the run. A score that
    is undecided lists those with unseen arguments as ``unobserved``. Raises as ``score`` does, WorkLimitError.
    """
    expected, actual = sides
    wanted = _Wanted(expected, asked)
    looked_at = (_Unseen(call, at, wanted.of(call["tool"]), work) for at, call in enumerate(actual))
    unseen = [call for call in looked_at if call.is_unseen()]
    if not unseen:
        return score(actual)
    trials = _Trials(expected, actual, wanted, unseen)
    left = work.left
    try:
        recorded = score(actual)
    except OriginalError as error:
        # Some originals refuse a call without arguments, which these calls may have had.
        if not any(_tried(score, made) for made in trials.extremes()):
            raise
        return _incomplete(Score(None, "fail", f"the original has no score: {error}"), trials, recorded_calls)
    affordable = work.left // max(1, left - work.left)
    if recorded.label == "pass":
        # A call of which the rule constrains no arguments matches by its name, as it does without any published scorer.
        trials = _Trials(expected, actual, wanted, [call for call in unseen if call.is_constrained])
    if recorded.label not in ("pass", "fail") or not trials.unseen:
        return recorded
    extremes = list(trials.extremes())
    if len(extremes) > affordable:
        return _incomplete(recorded, trials, recorded_calls, _TOO_MANY)
    found = [_tried(score, made) for made in extremes]
    if any(other.value != recorded.value for other in found if other):  # else they do not matter
        found += [_tried(score, made) for made in islice(trials.others(), affordable - len(extremes))]
    is_open = any(other.label != recorded.label for other in found if other)
    return _incomplete(recorded, trials, recorded_calls) if is_open else recorded


def _tried(score: ScoreCalls, made: Sequence[PlainCall]) -> Score | None:
    """Returns the score; None where the original has none."""
    try:
        return score(made)
    except OriginalError:
        return None


class _Trials:
    """What the calls made may have been, where arguments of some are unseen."""

    def __init__(
        self, expected: Sequence[PlainCall], actual: Sequence[PlainCall], wanted: _Wanted, unseen: Sequence[_Unseen]
    ) -> None:
        self._actual, self._wanted = actual, wanted
        self.unseen = unseen
        """The calls that may have been others."""
        self._expected = expected

    @cached_property
    def _texts(self) -> Sequence[str]:
        """Texts that are nowhere in these calls: one for all those with unseen arguments, and then one for each."""
        # Made when it is clear that the calls are not too large to be scored.
        known = str([*self._expected, *self._actual, *self._wanted.asked])
        texts = (text for number in count() if (text := f"\N{THERE DOES NOT EXIST}{number}") not in known)
        return list(islice(texts, 1 + len(self.unseen)))

    def extremes(self) -> Iterator[Sequence[PlainCall]]:
        """Yield the calls as wrong and as right as they may have been, and as many equal ones as there may have been."""
        unseen, (same, *own) = self.unseen, self._texts
        yield self._with([call.strange(text) for call, text in zip(unseen, own, strict=True)])
        yield self._with([call.strange(same) for call in unseen])
        yield self._with([call.without() for call in unseen])
        if self._wanted.expected:
            yield self._with(self._right())
        for args in self._wanted.asked:
            yield self._with([call.as_wanted(args, same) for call in unseen])

    def others(self) -> Iterator[Sequence[PlainCall]]:
        """Yield whatever else they may have been, if that is not too much to try."""
        choices = [list(self._choices(call, text)) for call, text in zip(self.unseen, self._texts[1:], strict=True)]
        size = 1
        for choice in choices:
            size *= len(choice)
            if size > MAX_ALTERNATIVES:
                return
        yield from map(self._with, product(*choices))

    def _choices(self, call: _Unseen, text: str) -> Iterator[PlainCall]:
        yield call.strange(text)
        yield call.without()
        wanted = self._wanted.of(call.tool)
        others = [made["args"] for made in self._actual if made["tool"] == call.tool and "args" in made]
        for args in (*wanted, *others):
            yield call.as_wanted(args, text)

    def _right(self) -> list[PlainCall]:
        """Returns the calls with the arguments expected: those that no call with known ones has taken, in their order."""
        waiting = list(self._wanted.expected)
        places = {call.at for call in self.unseen}
        for at, made in enumerate(self._actual):
            if at not in places:
                same = [other for other in waiting if other["tool"] == made["tool"] and other["args"] == made["args"]]
                _take(waiting, same)
        right = []
        for call, text in zip(self.unseen, self._texts[1:], strict=True):
            named = [other for other in waiting if other["tool"] == call.tool]
            fitting = [other for other in named if other["args"] == call.as_wanted(other["args"], text)["args"]]
            taken = _take(waiting, fitting or named)
            right.append(self._actual[call.at] if taken is None else call.as_wanted(taken["args"], text))
        return right

    def _with(self, changed: Sequence[PlainCall]) -> Sequence[PlainCall]:
        made = list(self._actual)
        for call, other in zip(self.unseen, changed, strict=True):
            made[call.at] = other
        return made


def _take(waiting: list[PlainCall], fitting: Sequence[PlainCall]) -> PlainCall | None:
    """Removes the first fitting one, if there is any, from those that wait, and returns it."""
    if not fitting:
        return None
    waiting.remove(fitting[0])
    return fitting[0]


def _incomplete(score: Score, trials: _Trials, recorded: Sequence[tuple[int, ToolCall]], sentence: str = "") -> Score:
    calls = [recorded[call.at] for call in trials.unseen]
    sentences = [sentence] if sentence else list(dict.fromkeys(_sentence(call) for _, call in calls))
    # What could not be parsed is a doubt of its own.
    unobserved = [at for at, call in calls if call.arguments_text is None]
    details = {**score.details, "unobserved": unobserved} if unobserved else score.details
    return undecided(replace(score, details=details), "incomplete", sentences)


def _sentence(call: ToolCall) -> str:
    name = shorten(call.name)
    if call.arguments is not None:
        return f"{name}: a value of its arguments is masked"
    if call.arguments_text is not None:
        return f"{name}: its arguments could not be parsed"
    return f"{name}: its arguments were not captured"
