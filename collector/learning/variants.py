"""The variants of a group of runs: which tools were called in which order, and how often that was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from scorers.trajectory import ToolCall


class Activity(NamedTuple):
    """A call as a pattern distinguishes it: its tool and, where a tool is called a fixed number of times, which of them."""

    tool: str
    number: int = 0


Step = tuple[Activity, ...]
Variant = tuple[Step, ...]
"""The calls of a run: steps in order, those of a step sorted, since they ran concurrently."""
Log = Mapping[Variant, int]
"""How many runs there are of each variant."""

_FEWEST, _FEWEST_OF = 3, 12  # runs: among a dozen broken ones, two may well be broken in the same way


def least_support(runs: int, noise: float) -> int:
    """Returns in how many of so many runs something must occur to be taken for meant: in a share of ``noise``, and in three."""
    return max(_FEWEST if runs >= _FEWEST_OF else 2, ceil(noise * runs))


def variant_of(calls: Sequence[ToolCall], *, collapse: bool) -> Variant:
    """Returns the variant of a run; with ``collapse`` a failed call and its retry in the next step are one."""
    steps: dict[int, list[ToolCall]] = {}
    for call in calls:
        steps.setdefault(call.step, []).append(call)
    kept = list(steps.values())
    if collapse:
        # The same reading of a retry as `retries: collapse` has in a rule.
        kept = [_without_retried(step, kept[at + 1 : at + 2]) for at, step in enumerate(kept)]
    return tuple(tuple(sorted(Activity(call.name) for call in step)) for step in kept if step)


def _without_retried(step: Sequence[ToolCall], following: Sequence[Sequence[ToolCall]]) -> list[ToolCall]:
    again = Counter(call.name for calls in following for call in calls)
    kept = []
    for call in step:
        if call.status == "error" and again[call.name]:
            again[call.name] -= 1
        else:
            kept.append(call)
    return kept


def counts_of(variant: Variant) -> Counter[Activity]:
    """Returns how often each activity occurs."""
    return Counter(activity for step in variant for activity in step)


def project(log: Log, kept: Collection[Activity]) -> Counter[Variant]:
    """Returns the runs with these activities alone."""
    found: Counter[Variant] = Counter()
    for variant, runs in log.items():
        steps = (tuple(activity for activity in step if activity in kept) for step in variant)
        found[tuple(step for step in steps if step)] += runs
    return found


def number_repeated(log: Log, noise: float) -> Counter[Variant]:
    """Returns the runs with the calls of a tool numbered where nearly all runs make the same number of them, but one."""
    # Numbered, the first and the second call of a tool have places of their own in a sequence. Where the number
    # varies it is a repetition, and the numbers would only be rare activities.
    fixed = {activity for activity, times in _times(log).items() if _is_fixed(times, noise)}
    found: Counter[Variant] = Counter()
    for variant, runs in log.items():
        seen: Counter[Activity] = Counter()
        found[tuple(tuple(sorted(_numbered(step, fixed, seen))) for step in variant)] += runs
    return found


def _times(log: Log) -> dict[Activity, Counter[int]]:
    times: dict[Activity, Counter[int]] = {}
    for variant, runs in log.items():
        for activity, count in counts_of(variant).items():
            times.setdefault(activity, Counter())[count] += runs
    return times


_MAX_NUMBERED = 5


def _is_fixed(times: Counter[int], noise: float) -> bool:
    (usual, runs), total = times.most_common(1)[0], times.total()
    return 1 < usual <= _MAX_NUMBERED and total - runs < least_support(total, noise)


def _numbered(step: Step, fixed: Collection[Activity], seen: Counter[Activity]) -> Iterator[Activity]:
    for activity in step:
        if activity in fixed:
            seen[activity] += 1
        yield activity._replace(number=seen[activity])


def activities_of(variants: Iterable[Variant]) -> list[Activity]:
    """Returns every activity once, in order of name."""
    return sorted({activity for variant in variants for step in variant for activity in step})
