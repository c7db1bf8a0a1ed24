"""TPMJS's tool-call-accuracy-score 0.2.0 (GitHub tpmjs/tpmjs at fddd37b; not on npm): F1 of calls with arguments.

Each expected call, in order, takes the first unused actual call of its name with equal arguments (correct), else the
first unused one of its name, which is then used up (incorrect), else none (missed); calls left over are extra::

    both empty            precision = recall = F1 = 1
    no call expected      precision 0, recall 1, F1 0
    no call made          precision 1, recall 0, F1 0
    else                  precision = correct / |A|, recall = correct / |E|, F1 their harmonic mean

Each is rounded half up to three decimals; the score is F1. Order does not matter.

Arguments are equal key by key (`scorers.systems.equality.own_keys_equal`): ``[1, 2]`` equals ``{"0": 1, "1": 2}``.

The documentation and the code differ:

- The README's first example (one correct of two expected, three made) states 0.667; the code gives 0.4.
- Its output puts the counts at top level, without precision and recall; the code nests the calls in ``breakdown``.
- The source header promises top-k and partial matching; there is neither. The assignment is greedy: an expectation
  that finds only other arguments uses up the call that a later one needs.

Raises, like the original, if two calls of one name are compared and either has no arguments at all.
"""

from __future__ import annotations

from typing import Any, Final

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.equality import own_keys_equal
from scorers.systems.formulas import f1_score, round_half_up
from scorers.systems.pairing import outcomes

NAME = "tpmjs"
VERSION = "tpmjs/tool-call-accuracy-score@0.2.0"

OPTIONS: Final = Options


def create(**options: Any) -> Scorer:
    """Returns a scorer. The original has no options: raises `ValueError` for any."""
    return make_scorer(parse_options(NAME, Options, options), _score)


def _score(_options: Options, expected: list[Call], actual: list[Call]) -> Score:
    correct, incorrect, missed = _take(expected, actual)
    extra = len(actual) - len(correct) - len(incorrect)
    precision, recall = _precision_recall(len(correct), len(expected), len(actual))
    f1 = f1_score(precision, recall)
    pairs = [[e, a, "correct"] for e, a in correct.items()] + [[e, a, "incorrect"] for e, a in incorrect.items()]
    summary = (
        f"F1: {100 * f1:.1f}% | Precision: {100 * precision:.1f}% | Recall: {100 * recall:.1f}% | "
        f"Correct: {len(correct)}/{len(expected)} | Incorrect: {len(incorrect)} | Missed: {len(missed)} | Extra: {extra}"
    )
    details = {
        "precision": round_half_up(precision, 3),
        "recall": round_half_up(recall, 3),
        "f1": round_half_up(f1, 3),
        "totalExpected": len(expected),
        "totalActual": len(actual),
        "correct": len(correct),
        "incorrect": len(incorrect),
        "missed": len(missed),
        "extra": extra,
        "pairs": pairs,
        "summary": summary,
    }
    reason = (
        f"F1 of precision {precision:.3f} and recall {recall:.3f}: {len(correct)} correct calls of {len(actual)} made"
    )
    return labelled_score(
        round_half_up(f1, 3),
        f"{reason} and {len(expected)} expected",
        details,
        outcomes=outcomes(len(actual), set(correct.values()), set(incorrect.values())),
        missing=[expected[index].tool for index in missed],
    )


def _take(expected: list[Call], actual: list[Call]) -> tuple[dict[int, int], dict[int, int], list[int]]:
    """Correct pairs, incorrect pairs (expected index to actual index) and the missed expected indexes."""
    free: dict[str, list[int]] = {}
    for index, call in enumerate(actual):
        free.setdefault(call.tool, []).append(index)
    correct: dict[int, int] = {}
    incorrect: dict[int, int] = {}
    missed: list[int] = []
    for index, call in enumerate(expected):
        same_name = free.get(call.tool, [])
        equal = next((place for place, other in enumerate(same_name) if _arguments_equal(call, actual[other])), None)
        if equal is not None:
            correct[index] = same_name.pop(equal)
        elif same_name:
            incorrect[index] = same_name.pop(0)
        else:
            missed.append(index)
    return correct, incorrect, missed


def _arguments_equal(expected: Call, actual: Call) -> bool:
    try:
        return own_keys_equal(expected.args, actual.args)
    except TypeError:
        raise OriginalError(f"tpmjs cannot compare two calls of {expected.tool!r} where one has no arguments") from None


def _precision_recall(correct: int, expected: int, actual: int) -> tuple[float, float]:
    if not expected or not actual:
        return float(not actual), float(not expected)
    return correct / actual, correct / expected
