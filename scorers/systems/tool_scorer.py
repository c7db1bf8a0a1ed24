"""The deterministic metrics of PyPI's tool-scorer 1.10.0.

``metric`` is one of, with E and A the sets of names expected and called::

    score                   0.4 selection_accuracy + 0.3 argument_f1 + 0.2 sequence_accuracy + 0.1 (1 - redundant calls / calls)
                            + 0 required_call_recall; ``weights`` replace these, and are then divided by their sum (default)
    invocation_accuracy     (|E and A| - half of the names on one side only) / |E|, at least 0
    selection_accuracy      share of the calls made whose name is in E
    argument_f1             F1 of the arguments of calls paired by name, so that most arguments are equal
    sequence_accuracy       1 - edit distance of the names / the longer side
    tool_correctness        |E and A| / |E|;  strict_order: equal names at their positions / expected calls
    tool_correctness_args   expected calls with an equal call of their own / expected calls
    trajectory_accuracy     expected arguments present at its position, share of the expected calls, times expected / made calls
                            where more were made
    partial_trajectory      names in any order, share of the expected calls
    required_call_recall    the same, of the calls that did not fail;  no value if nothing is expected

Both sides empty: 1; one of them: 0. An expected call without arguments leaves them unchecked. Unless ``strict``, which applies
to argument_f1 and its part in the score, 1 equals 1.0 and texts are equal without the space around them.

The documentation and the code differ: ``tool_correctness`` and ``invocation_accuracy`` compare sets, so that it does not matter
how often a tool is called; pairs of more than twelve calls of one tool are greedy. Raises, like the original, for empty names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from pydantic import Field
from rapidfuzz.distance import Levenshtein

from scorers.arithmetic import sum_in_order
from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call, arguments, failed, names, optional_arguments
from scorers.options import Options, parse_options
from scorers.score import Score, reaches
from scorers.systems.formulas import f1_score, share
from scorers.systems.pairing import first_fit, heaviest_pairs
from scorers.work import Work

NAME = "tool_scorer"
VERSION = "tool-scorer@1.10.0"

Metric = Literal[
    "score",
    "invocation_accuracy",
    "selection_accuracy",
    "argument_f1",
    "sequence_accuracy",
    "tool_correctness",
    "tool_correctness_args",
    "trajectory_accuracy",
    "partial_trajectory",
    "required_call_recall",
]
Details = dict[str, Any]
_EXACT_PAIRING_LIMIT = 12


class Weights(Options):
    """Weights of the parts of ``score``."""

    selection_accuracy: float = Field(default=0.4, ge=0)
    argument_f1: float = Field(default=0.3, ge=0)
    sequence_accuracy: float = Field(default=0.2, ge=0)
    redundant_rate: float = Field(default=0.1, ge=0)
    required_call_recall: float = Field(default=0.0, ge=0)


class ToolScorerOptions(Options):
    """``allow_tool_name_variations`` ignores case, ``_`` and ``-`` in partial_trajectory."""

    metric: Metric = "score"
    weights: Weights | None = None
    strict: bool = False
    strict_order: bool = False
    allow_tool_name_variations: bool = False


_ONLY_FOR: dict[str, tuple[Metric, ...]] = {
    "weights": ("score",),
    "strict": ("score", "argument_f1"),
    "strict_order": ("tool_correctness",),
    "allow_tool_name_variations": ("partial_trajectory",),
}

OPTIONS: Final = ToolScorerOptions


def create(**options: Any) -> Scorer:
    """Returns one of the metrics. Raises `ValueError` for invalid options, those of another metric, or weights of sum 0."""
    parsed = parse_options(NAME, ToolScorerOptions, options)
    for option in sorted(options.keys() & _ONLY_FOR.keys()):
        if parsed.metric not in _ONLY_FOR[option]:
            raise ValueError(f"{NAME} option {option!r}: it is for the metric {' and '.join(_ONLY_FOR[option])}")
    if parsed.weights is not None and sum_in_order(parsed.weights.model_dump().values()) == 0:
        raise OriginalError(f"{NAME} option 'weights': one of them must be positive")
    return make_scorer(parsed, _score, _spend)


def _spend(options: ToolScorerOptions, expected: list[Call], actual: list[Call], work: Work) -> None:
    if options.metric in {"score", "argument_f1"}:
        made = Counter(names(actual))
        for tool, count in Counter(names(expected)).items():
            least, most = sorted((count, made[tool]))
            # The Hungarian algorithm is cubic; its weights have more digits the more rows there are.
            cost = (
                least * least * most * (2 + count // 16)
                if made[tool] <= _EXACT_PAIRING_LIMIT
                else 5 * count * made[tool]
            )
            work.spend(cost, "the pairing of calls of one tool")


def _score(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Score:
    if not all(call.tool for call in (*expected, *actual)):
        raise OriginalError(f"{NAME} takes no call whose name is empty")
    if options.metric == "score":
        return _composite(options, expected, actual)
    value, shown, details = _METRICS[options.metric](options, expected, actual)
    explanation = f"{options.metric}: {shown}, {len(expected)} calls expected and {len(actual)} made"
    return labelled_score(value, explanation, details, passed=value is None or reaches(value, 1.0))


def _composite(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Score:
    weights = (options.weights or Weights()).model_dump()
    if options.weights is not None:
        total = sum_in_order(weights.values())
        weights = {name: weight / total for name, weight in weights.items()}
    metrics: tuple[Metric, ...] = ("selection_accuracy", "argument_f1", "sequence_accuracy", "required_call_recall")
    measured = {name: _METRICS[name](options, expected, actual) for name in metrics}
    redundant = (Counter(names(actual)) - Counter(names(expected))).total()
    recall = measured["required_call_recall"][0]
    parts = {
        "selection_accuracy": measured["selection_accuracy"][0] or 0.0,
        "argument_f1": measured["argument_f1"][0] or 0.0,
        "sequence_accuracy": measured["sequence_accuracy"][0] or 0.0,
        "redundant_rate": 1.0 - share(redundant, len(actual)),
        "required_call_recall": 1.0 if recall is None else recall,
    }
    value = sum_in_order(weights[name] * part for name, part in parts.items())
    details = {key: item for name in metrics for key, item in measured[name][2].items()}
    details |= {"redundant_count": redundant, "redundant_rate": share(redundant, len(actual))}
    shown = " + ".join(f"{weights[name]:.4g} * {part:.4g} {name}" for name, part in parts.items() if weights[name])
    # The weights are floats whose sum may miss 1, and a perfect run must pass.
    return labelled_score(1.0 if reaches(value, 1.0) else value, f"score: {shown}", details)


Measured = tuple[float | None, str, Details]
"""A value, how it comes about, and what the original reports."""


def _empty_side(expected: list[Call], actual: list[Call]) -> float | None:
    """The value where a side is empty, which is the same for all metrics; None where none is."""
    return None if expected and actual else float(not expected and not actual)


def _invocation(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    if (value := _empty_side(expected, actual)) is None:
        wanted, made = set(names(expected)), set(names(actual))
        value = min(1.0, max(0.0, (len(wanted & made) - len(wanted ^ made) * 0.5) / len(wanted)))
        shown = f"({len(wanted & made)} names in common - {len(wanted ^ made)} others / 2) / {len(wanted)}"
        return value, shown, {"invocation_accuracy": value}
    return value, "a side is empty", {"invocation_accuracy": value}


def _selection(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    wanted = set(names(expected))
    known = sum(name in wanted for name in names(actual))
    value = share(known, len(actual)) if expected or actual else 1.0
    return value, f"{known} calls of an expected name", {"selection_accuracy": value}


def _sequence(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    distance = Levenshtein.distance(names(expected), names(actual))
    normalized = distance / max(len(expected), len(actual), 1)
    details = {
        "edit_distance": float(distance),
        "normalized_distance": normalized,
        "sequence_accuracy": 1.0 - normalized,
    }
    return 1.0 - normalized, f"an edit distance of {distance}", details


def _argument_f1(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    value = _empty_side(expected, actual)
    if value is not None:
        return value, "a side is empty", {"precision": value, "recall": value, "f1": value}
    correct = wanted = made = vacuous = 0
    pairs = _pairs(options, expected, actual)
    for index, call in enumerate(expected):
        other = pairs.get(index)
        given = optional_arguments(call)
        if other is None:
            wanted += len(given or ())
        elif given is None:
            vacuous += 1
        else:
            taken = arguments(actual[other])
            correct += _equal_arguments(given, taken, strict=options.strict)
            wanted += len(given)
            made += len(taken)
            vacuous += not given and not taken
    if not wanted and not made and vacuous:
        precision = recall = 1.0
    else:
        precision, recall = share(correct, made), share(correct, wanted)
    f1 = f1_score(precision, recall)
    return (
        f1,
        f"{correct} equal of {wanted} expected and {made} given",
        {"precision": precision, "recall": recall, "f1": f1},
    )


def _pairs(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> dict[int, int]:
    """One call for each expected call of its name while there are any, so that most arguments are equal."""
    wanted, made = _by_tool(expected), _by_tool(actual)
    pairs: dict[int, int] = {}
    for tool, ours in wanted.items():
        theirs = made.get(tool, [])
        weights = [[_weight(options, expected[i], actual[j]) for j in theirs] for i in ours]
        # The original's own limit: beyond it, it is greedy too, and another pairing would be another number.
        chosen = heaviest_pairs(weights) if len(theirs) <= _EXACT_PAIRING_LIMIT else _heaviest_free(weights)
        pairs |= {ours[row]: theirs[column] for row, column in chosen.items()}
    return pairs


def _by_tool(calls: list[Call]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        indexes.setdefault(call.tool, []).append(index)
    return indexes


def _heaviest_free(weights: list[list[int]]) -> dict[int, int]:
    """Each row takes the heaviest column that is left, the first of equal ones."""
    free = list(range(len(weights[0])))
    chosen = {}
    for row, of_row in enumerate(weights):
        if free:
            chosen[row] = max(free, key=of_row.__getitem__)
            free.remove(chosen[row])
    return chosen


def _weight(options: ToolScorerOptions, expected: Call, actual: Call) -> int:
    given = optional_arguments(expected)
    return 0 if given is None else _equal_arguments(given, arguments(actual), strict=options.strict)


def _equal_arguments(expected: Mapping[str, Any], made: Mapping[str, Any], *, strict: bool) -> int:
    equal = _strictly_equal if strict else _leniently_equal
    return sum(key in made and equal(value, made[key]) for key, value in expected.items())


def _strictly_equal(one: Any, other: Any) -> bool:
    """Equal and of one type, at every depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_strictly_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_strictly_equal, one, other))
    return bool(one == other)


def _leniently_equal(one: Any, other: Any) -> bool:
    if one == other:
        return True
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return float(one) == float(other)
        except OverflowError:
            raise OriginalError(f"{NAME} cannot compare an integer that no float can hold") from None
    return isinstance(one, str) and isinstance(other, str) and one.strip() == other.strip()


def _tool_correctness(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    wanted, made = names(expected), names(actual)
    if options.strict_order and expected:
        correct, total = sum(map(str.__eq__, wanted, made)), len(wanted)
    else:
        correct, total = len(set(wanted) & set(made)), len(set(wanted))
    value = correct / total if total else float(not actual)
    details = {"tool_correctness": value, "correct_count": correct, "total_expected": total}
    return value, f"{correct} of {total} names", details


def _tool_correctness_args(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    matched = len(expected) - first_fit(expected, actual, _is_call).count(None)
    value = matched / len(expected) if expected else float(not actual)
    return value, f"{matched} equal calls", {"tool_correctness_strict": value}


def _is_call(expected: Call, actual: Call) -> bool:
    given = optional_arguments(expected)
    return expected.tool == actual.tool and (given is None or given == optional_arguments(actual))


def _trajectory(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    correct = sum(map(_is_step, expected, actual))
    rate = correct / len(expected) if expected else float(not actual)
    efficiency = 1.0
    if expected:
        efficiency = len(expected) / len(actual) if len(actual) > len(expected) else float(bool(actual))
    details = {
        "trajectory_accuracy": rate * efficiency,
        "step_match_rate": rate,
        "path_efficiency": efficiency,
        "correct_steps": correct,
        "total_expected_steps": len(expected),
    }
    return rate * efficiency, f"{correct} steps matched, an efficiency of {efficiency:.4g}", details


def _is_step(expected: Call, actual: Call) -> bool:
    if expected.tool != actual.tool:
        return False
    made = arguments(actual)
    return all(key in made and made[key] == value for key, value in arguments(expected).items())


def _partial_trajectory(options: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    plain = _plain_name if options.allow_tool_name_variations else str
    matched = (Counter(map(plain, names(expected))) & Counter(map(plain, names(actual)))).total()
    value = matched / len(expected) if expected else float(not actual)
    return value, f"{matched} names in common", {"partial_trajectory_accuracy": value}


def _plain_name(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _required_call_recall(_: ToolScorerOptions, expected: list[Call], actual: list[Call]) -> Measured:
    made = Counter(call.tool for call in actual if not failed(call))
    matched = (Counter(names(expected)) & made).total()
    value = matched / len(expected) if expected else None
    return value, f"{matched} names in common of calls that did not fail", {"required_call_recall": value}


_METRICS: dict[Metric, Callable[[ToolScorerOptions, list[Call], list[Call]], Measured]] = {
    "invocation_accuracy": _invocation,
    "selection_accuracy": _selection,
    "argument_f1": _argument_f1,
    "sequence_accuracy": _sequence,
    "tool_correctness": _tool_correctness,
    "tool_correctness_args": _tool_correctness_args,
    "trajectory_accuracy": _trajectory,
    "partial_trajectory": _partial_trajectory,
    "required_call_recall": _required_call_recall,
}
