"""The four measurements of Mastra's trajectory scorers (npm @mastra/evals 1.10.2): accuracy, efficiency, blacklist, failures.

Each function returns what the original reports, under the original's keys. `accuracy` also returns which calls were matched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Literal

from scorers.calls import ABSENT, Call, names
from scorers.systems.equality import stringify_key
from scorers.systems.formulas import round_to_cents
from scorers.systems.pairing import first_fit

Ordering = Literal["strict", "relaxed", "unordered"]
Pair = tuple[int, int]
"""The index of an expected step, and that of the call it matches."""

Report = dict[str, Any]


class _Steps:
    """Both sides of a comparison. ``typed`` expected steps have a stepType, and only then their data is compared."""

    def __init__(self, expected: Sequence[Call], actual: Sequence[Call], *, typed: bool) -> None:
        self.expected, self.actual = names(expected), names(actual)
        self._wanted = [_Data(call) for call in expected] if typed else []
        self._made = [_Data(call) for call in actual] if typed else []

    def fit(self, wanted: int, made: int) -> bool:
        """Whether the call matches the expected step: its name, and its data where they are compared."""
        if self.expected[wanted] != self.actual[made]:
            return False
        return not self._wanted or self._wanted[wanted].is_met_by(self._made[made])


class _Data:
    """The data of a step as JSON texts compare: key order matters. Absent data of an expected step match anything."""

    def __init__(self, call: Call) -> None:
        self.arguments: Hashable = ABSENT if call.args is ABSENT else stringify_key(call.args)
        self.success = call.success

    def is_met_by(self, other: _Data) -> bool:
        if self.arguments is not ABSENT and self.arguments != other.arguments:
            return False
        return self.success is None or self.success == other.success


def accuracy(
    expected: Sequence[Call], actual: Sequence[Call], ordering: Ordering, *, typed: bool, allow_repeated: bool
) -> tuple[Report, list[Pair]]:
    """Compare the calls with the expected steps. Without expected steps only an empty run is right."""
    steps = _Steps(expected, actual, typed=typed)
    if not expected:
        return _comparison(steps, 0.0 if actual else 1.0, [], [], []), []
    pairs, out_of_order = _ORDERINGS[ordering](steps)
    score = len(pairs) / len(expected)
    if ordering == "strict":
        score = max(0.0, score - max(0, len(actual) - len(expected)) / len(expected) * 0.5)
    repeated = [name for name, count in Counter(steps.actual).items() if count > 1]
    if not allow_repeated:
        score = max(0.0, score - len(repeated) * 0.1)
    return _comparison(steps, round_to_cents(score), pairs, out_of_order, repeated), pairs


def _comparison(
    steps: _Steps, score: float, pairs: Sequence[Pair], out_of_order: list[str], repeated: list[str]
) -> Report:
    found = {wanted for wanted, _ in pairs}
    known = set(steps.expected)
    return {
        "score": score,
        "matchedSteps": len(pairs),
        "totalExpectedSteps": len(steps.expected),
        "totalActualSteps": len(steps.actual),
        "missingSteps": [name for index, name in enumerate(steps.expected) if index not in found],
        "extraSteps": [name for name in steps.actual if name not in known],
        "outOfOrderSteps": out_of_order,
        "repeatedSteps": repeated,
    }


def _strict(steps: _Steps) -> tuple[list[Pair], list[str]]:
    """Position by position."""
    pairs, out_of_order = [], []
    known = set(steps.expected)
    for index, name in enumerate(steps.actual):
        if index < len(steps.expected) and name == steps.expected[index]:
            if steps.fit(index, index):
                pairs.append((index, index))
        elif name and name in known:
            out_of_order.append(name)
    return pairs, out_of_order


def _relaxed(steps: _Steps) -> tuple[list[Pair], list[str]]:
    """Each expected step is searched after the last match; one that is not found stays where it was."""
    pairs: list[Pair] = []
    out_of_order = []
    known = set(steps.actual)
    start = 0
    for wanted, name in enumerate(steps.expected):
        made = next((made for made in range(start, len(steps.actual)) if steps.fit(wanted, made)), None)
        if made is not None:
            pairs.append((wanted, made))
            start = made + 1
        elif name in known:
            out_of_order.append(name)
    return pairs, out_of_order


def _unordered(steps: _Steps) -> tuple[list[Pair], list[str]]:
    """The first unused call of each expected step."""
    found = first_fit(range(len(steps.expected)), range(len(steps.actual)), steps.fit)
    return [(wanted, made) for wanted, made in enumerate(found) if made is not None], []


_ORDERINGS = {"strict": _strict, "relaxed": _relaxed, "unordered": _unordered}


def efficiency(actual: Sequence[Call], max_steps: float | None, *, no_redundant_calls: bool) -> Report:
    """The mean of the share of the step budget kept, and a fifth less for each call that repeats the one before it."""
    over = max_steps is not None and len(actual) > max_steps
    redundant = _repeats(actual) if no_redundant_calls else []
    parts = []
    if max_steps is not None:
        parts.append(_within_budget(len(actual), max_steps))
    if no_redundant_calls:
        parts.append(max(0.0, 1 - len(redundant) * 0.2))
    return {
        "score": round_to_cents(sum(parts) / len(parts) if parts else 1.0),
        "totalSteps": len(actual),
        "overStepBudget": over,
        "totalTokens": 0,
        "overTokenBudget": False,
        "totalDurationMs": 0,
        "overDurationBudget": False,
        "redundantCalls": redundant,
    }


def _within_budget(count: int, budget: float) -> float:
    if count <= budget:
        return 1.0
    return max(0.0, 1 - (count - budget) / budget) if budget else 0.0


def _repeats(actual: Sequence[Call]) -> list[Report]:
    # Made once for each call: to compare neighbours directly would read each value twice.
    keys = [(call.tool, stringify_key(call.args)) for call in actual]
    return [
        {"name": actual[index].tool, "index": index} for index in range(1, len(keys)) if keys[index] == keys[index - 1]
    ]


def blacklist(actual: Sequence[Call], tools: Sequence[str], sequences: Sequence[Sequence[str]]) -> Report:
    """Which forbidden tools were called, and which forbidden sequences, call after call. Any makes the score 0."""
    made = names(actual)
    called = set(made)
    violated_tools = [tool for tool in tools if tool in called]
    violated_sequences = [list(sequence) for sequence in sequences if sequence and _contains(made, list(sequence))]
    return {
        "score": 0.0 if violated_tools or violated_sequences else 1.0,
        "violatedTools": violated_tools,
        "violatedSequences": violated_sequences,
    }


def _contains(made: list[str], sequence: list[str]) -> bool:
    size = len(sequence)
    return any(made[start : start + size] == sequence for start in range(len(made) - size + 1))


def tool_failures(actual: Sequence[Call], max_retries: float) -> Report:
    """Retries in runs of calls of one tool: calls right after a failed one. A fifth less for each beyond ``max_retries``."""
    patterns = []
    start = 0
    while start < len(actual):
        end = start + 1
        while end < len(actual) and actual[end].tool == actual[start].tool:
            end += 1
        retries = sum(call.success is False for call in actual[start : end - 1])
        if retries:
            patterns.append(_pattern(actual[end - 1], retries, actual[end] if end < len(actual) else None))
        start = end
    excess = sum((max(0.0, pattern["retryCount"] - max_retries) for pattern in patterns), 0.0)
    return {
        "score": round_to_cents(max(0.0, min(1.0, 1 - excess * 0.2))),
        "patterns": patterns,
        "totalRetries": sum(pattern["retryCount"] for pattern in patterns),
        "excessiveRetryTools": [pattern["toolName"] for pattern in patterns if pattern["retryCount"] > max_retries],
    }


def _pattern(last: Call, retries: int, following: Call | None) -> Report:
    succeeded = last.success is not False
    pattern = {
        "toolName": last.tool,
        "retryCount": retries,
        "fellBackToAlternative": following is not None and not succeeded,
        "eventuallySucceeded": succeeded,
    }
    if following is not None and not succeeded:
        pattern["alternativeTool"] = following.tool
    return pattern
