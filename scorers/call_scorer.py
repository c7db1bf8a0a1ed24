"""What the published scorers share: a scoring function with typed options, a label.

A module defines its options (a subclass of `Options`) and a function ``(options, expected, actual) -> Score``.
`make_scorer` turns them into a `Scorer`, which parses the calls and refuses arguments that are nested too deep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias

from scorers.calls import Call, parse_calls
from scorers.options import OptionsT
from scorers.plugins import Installed, ScorerPlugin, score_of
from scorers.score import Outcome, Score
from scorers.work import Work

_PAIR_COST = 5
_CHARS_PER_UNIT = 32
_SQUARE_BITS_PER_UNIT = 20_000  # of an integer: many originals print the arguments, which takes quadratic time
_COMPARISONS = "the comparison of the calls with the expected ones"


class OriginalError(ValueError):
    """The original raises on this input, so there is no score."""


class Scorer(Protocol):
    """A scorer of plain calls ``{"tool", "args"?, ...}``. It raises where there is no score."""

    def __call__(
        self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        """Score the actual calls against the expected ones. Where ``work`` is given, it is not exceeded: WorkLimitError."""


Spend: TypeAlias = Callable[[OptionsT, list[Call], list[Call], Work], None]


@dataclass(frozen=True, slots=True)
class CallScorer(Generic[OptionsT]):
    """The scorer of a system. It raises `ValueError` for arguments that are nested too deep."""

    options: OptionsT
    score: Callable[[OptionsT, list[Call], list[Call]], Score]
    spend: Spend[OptionsT] | None = None
    reads_expected: bool = True
    """False if the options say all that it expects: in a rule it needs no pattern."""
    tells_failures_apart: bool = False
    """Whether it may matter which calls failed, even where neither all nor none of them having failed does."""
    reads_arguments: bool = True
    """False if the arguments of calls do not matter."""
    asked: Sequence[Mapping[str, Any]] = ()
    """Arguments of calls that its options ask for."""

    def __call__(
        self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        """Score the actual calls against the expected ones."""
        try:
            wanted, made = parse_calls(expected, "expected"), parse_calls(actual, "actual")
            if work is not None:
                # Before the comparison, by sizes alone: nothing can interrupt Python's == on large values.
                spend_on_comparisons(wanted, made, work)
                if self.spend is not None:
                    self.spend(self.options, wanted, made, work)
            return self.score(self.options, wanted, made)
        # Python's == recurses as deep as the arguments, whose depth the sender chooses.
        except RecursionError:
            raise ValueError("the arguments are nested too deep to compare") from None


class PluginScorer:
    """The scorer of an installed package with these options. Raises ValueError naming every mistake in them, PluginError."""

    def __init__(self, installed: Installed[ScorerPlugin[Any]], options: Mapping[str, Any]) -> None:
        self._installed, self._options = installed, installed.parse(options)
        self.reads_expected, self.reads_arguments = installed.plugin.reads_expected, installed.plugin.reads_arguments

    def __call__(
        self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        """Score the actual calls against the expected ones. Raises PluginError where it raises, WorkLimitError."""
        calls = [parse_calls(expected, "expected"), parse_calls(actual, "actual")]
        return score_of(self._installed, self._options, calls, work or Work())


def make_scorer(
    options: OptionsT,
    score: Callable[[OptionsT, list[Call], list[Call]], Score],
    spend: Spend[OptionsT] | None = None,
    *,
    reads_expected: bool = True,
    tells_failures_apart: bool = False,
    reads_arguments: bool = True,
    asked: Sequence[Mapping[str, Any]] = (),
) -> Scorer:
    """Returns the scorer of a system; what is not said here is as `CallScorer` says.

    ``spend`` spends the work that the system needs, if that is more than comparing each expected call with each actual one.
    """
    return CallScorer(options, score, spend, reads_expected, tells_failures_apart, reads_arguments, asked)


def spend_on_comparisons(one: Sequence[Call], other: Sequence[Call], work: Work) -> None:
    """Spend the work of comparing each call with each other one. Raises WorkLimitError or RecursionError."""
    ours, theirs = _sizes(one, work), _sizes(other, work)
    work.spend(_PAIR_COST * len(one) * len(other), _COMPARISONS)
    for tool, sizes in ours.items():
        # Arguments are compared between calls of one tool, and no longer than the smaller of the two.
        made = theirs.get(tool, ())
        work.spend(min(sum(sizes) * len(made), sum(made) * len(sizes)), _COMPARISONS)


def _sizes(calls: Sequence[Call], work: Work) -> Mapping[str, list[int]]:
    sizes: dict[str, list[int]] = {}
    for call in calls:
        before = work.left
        _spend_on_value(call.args, work)
        _spend_on_value(call.output, work)
        sizes.setdefault(call.tool, []).append(before - work.left)
    return sizes


def _spend_on_value(value: Any, work: Work) -> None:
    """Spend the work of one look at a value."""
    if isinstance(value, str):
        work.spend(1 + len(value) // _CHARS_PER_UNIT, _COMPARISONS)
        return
    if isinstance(value, int):
        work.spend(1 + value.bit_length() ** 2 // _SQUARE_BITS_PER_UNIT, _COMPARISONS)
        return
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    work.spend(1 + 2 * len(inside), _COMPARISONS)
    for item in inside:
        _spend_on_value(item, work)


def labelled_score(
    value: float | None,
    explanation: str,
    details: Mapping[str, Any],
    *,
    passed: bool | None = None,
    outcomes: Sequence[Outcome] = (),
    missing: Sequence[str] = (),
) -> Score:
    """Returns a Score labelled as the original decides. Where it does not decide (``passed`` is None), only 1 passes."""
    if passed is None:
        passed = value == 1.0
    return Score(value, "pass" if passed else "fail", explanation, outcomes, missing, details)
