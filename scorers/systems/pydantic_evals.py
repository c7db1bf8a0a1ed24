"""The evaluators of tool calls of Pydantic Evals (PyPI pydantic-evals 2.62.0), on the names of ``expected``.

``evaluator`` is one of::

    ToolCorrectness       1 if the tools called are the expected ones, in any order and each as often;
                          with allow_extra others may be called too
    TrajectoryMatch       exact: 1 if the same tools in the same order;  else the F1 of what both sides share:
                          in_order (default) the longest common subsequence, any_order the tools in any order
    ArgumentCorrectness   1 if the call of ``tool_name`` has ``expected_arguments``, subset (default) or exact; of several calls
                          the one that ``occurrence`` says: first (default), last or an index;  ``expected`` is ignored
    MaxToolCalls          1 if at most ``max_calls`` were made;  ``expected`` is ignored

Failed calls do not count, except for MaxToolCalls; ``include_failed`` changes either. Both sides empty: 1; one of them: 0.
Arguments are compared by Python's ==, and those that were not captured never match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import ABSENT, Call, failed, names
from scorers.options import Options, parse_options
from scorers.score import Score
from scorers.systems.formulas import f1_score, share

NAME = "pydantic_evals"
VERSION = "pydantic-evals@2.62.0"

Evaluator = Literal["ToolCorrectness", "TrajectoryMatch", "ArgumentCorrectness", "MaxToolCalls"]

_TAKES: dict[Evaluator, tuple[frozenset[str], frozenset[str]]] = {
    "ToolCorrectness": (frozenset(), frozenset({"allow_extra"})),
    "TrajectoryMatch": (frozenset(), frozenset({"order"})),
    "ArgumentCorrectness": (frozenset({"tool_name", "expected_arguments"}), frozenset({"match_mode", "occurrence"})),
    "MaxToolCalls": (frozenset({"max_calls"}), frozenset()),
}
"""The options that an evaluator needs, and those that it takes besides ``include_failed``."""


class PydanticEvalsOptions(Options):
    """Options of all evaluators; each takes its own."""

    evaluator: Evaluator = Field(description=f"which of {', '.join(_TAKES)}")
    allow_extra: bool = False
    order: Literal["exact", "in_order", "any_order"] = "in_order"
    tool_name: str | None = None
    expected_arguments: Mapping[str, Any] | None = None
    match_mode: Literal["exact", "subset"] = "subset"
    occurrence: Literal["first", "last"] | int = "first"
    max_calls: int | None = None
    include_failed: bool | None = None

    def counts_failed(self) -> bool:
        """Whether calls that failed count like others."""
        return self.evaluator == "MaxToolCalls" if self.include_failed is None else self.include_failed


OPTIONS: Final = PydanticEvalsOptions


def create(**options: Any) -> Scorer:
    """Returns one of the evaluators. Raises `ValueError` for invalid options, or such as it needs or does not take."""
    parsed = parse_options(NAME, PydanticEvalsOptions, options)
    needs, takes = _TAKES[parsed.evaluator]
    if missing := sorted(needs - options.keys()):
        raise ValueError(f"{NAME} needs {' and '.join(missing)} for the evaluator {parsed.evaluator}")
    if other := sorted(options.keys() - needs - takes - {"evaluator", "include_failed"}):
        raise ValueError(f"{NAME} option {other[0]!r}: the evaluator {parsed.evaluator} takes none")
    reads_expected = parsed.evaluator in {"ToolCorrectness", "TrajectoryMatch"}
    apart = not parsed.counts_failed()
    asked = () if parsed.expected_arguments is None else (parsed.expected_arguments,)
    return make_scorer(
        parsed,
        _score,
        reads_expected=reads_expected,
        tells_failures_apart=apart,
        reads_arguments=bool(asked),
        asked=asked,
    )


def _score(options: PydanticEvalsOptions, expected: list[Call], actual: list[Call]) -> Score:
    include_failed = options.counts_failed()
    counted = [call for call in actual if include_failed or not failed(call)]
    match options.evaluator:
        case "ToolCorrectness":
            return _tool_correctness(options, names(expected), names(counted))
        case "TrajectoryMatch":
            return _trajectory_match(options.order, names(expected), names(counted))
        case "ArgumentCorrectness":
            return _argument_correctness(options, counted)
    budget = options.max_calls or 0
    published = f"{len(counted)} tool call(s), budget={budget}"
    return _answer(len(counted) <= budget, f"{len(counted)} calls of at most {budget}", published)


def _tool_correctness(options: PydanticEvalsOptions, expected: list[str], made: list[str]) -> Score:
    missing, extra = Counter(expected) - Counter(made), Counter(made) - Counter(expected)
    problems = []
    if missing:
        problems.append(f"missing tools: {_counted(missing)}")
    if extra and not options.allow_extra:
        problems.append(f"unexpected tools: {_counted(extra)}")
    shown = f"{missing.total()} expected calls are missing, {extra.total()} calls are not expected"
    if options.allow_extra:
        shown += " but allowed"
    return _answer(not problems, shown, "; ".join(problems) or None, missing=tuple(missing.elements()))


def _counted(tools: Counter[str]) -> str:
    return ", ".join(f"{name!r} (x{count})" for name, count in sorted(tools.items()))


def _trajectory_match(order: str, expected: list[str], made: list[str]) -> Score:
    if order == "exact":
        if made == expected:
            return _answer(True, "the same calls in the same order", f"actual trajectory matches expected: {made!r}")
        return _answer(
            False,
            f"{len(made)} calls are not the {len(expected)} expected ones in their order",
            f"actual trajectory {made!r} does not equal expected {expected!r}",
        )
    if not expected and not made:
        return _answer(
            True, "no call was expected and none was made", "both actual and expected trajectories are empty"
        )
    if order == "any_order":
        word, common = "multiset overlap", (Counter(expected) & Counter(made)).total()
    else:
        word, common = "LCS", _common_subsequence(made, expected)
    precision, recall = share(common, len(made)), share(common, len(expected))
    f1 = f1_score(precision, recall)
    published = (
        f"{word}={common}, precision={common}/{len(made)}={precision:.3f}, recall={common}/{len(expected)}={recall:.3f}, "
        f"F1={f1:.3f} (expected: {expected!r}, actual: {made!r})"
    )
    shown = f"F1 of {common} calls in common ({order}), {len(expected)} expected and {len(made)} made"
    return labelled_score(f1, shown, {"reason": published})


def _common_subsequence(one: list[str], other: list[str]) -> int:
    """The length of the longest one."""
    lengths = [0] * (len(other) + 1)
    for name in one:
        before = 0
        for index, theirs in enumerate(other, 1):
            above = lengths[index]
            lengths[index] = before + 1 if name == theirs else max(above, lengths[index - 1])
            before = above
    return lengths[-1]


def _argument_correctness(options: PydanticEvalsOptions, counted: list[Call]) -> Score:
    tool = f"Tool {options.tool_name!r}"
    matches = [call for call in counted if call.tool == options.tool_name]
    if not matches:
        reason = f"No calls to tool {options.tool_name!r} were recorded."
        return _answer(False, f"{options.tool_name!r} was not called", reason)
    selected = _select(options.occurrence, matches)
    if selected is None:
        reason = (
            f"{tool} was called {len(matches)} time(s); occurrence={options.occurrence!r} does not select any of them "
            "(must be 'first', 'last', or a 0-based index; negative ints are not supported)."
        )
        return _answer(False, f"no call {options.occurrence} among {len(matches)} of {options.tool_name!r}", reason)
    if selected.args is ABSENT:
        reason = f"{tool} arguments not available in span (`include_content` may be disabled)."
        return _answer(False, f"the arguments of {options.tool_name!r} were not captured", reason)
    if not isinstance(selected.args, Mapping):
        reason = f"{tool} arguments are not a JSON object: {selected.args!r}"
        return _answer(False, f"the arguments of {options.tool_name!r} are no object", reason)
    expected = options.expected_arguments or {}
    differences = _differences(expected, selected.args, exact=options.match_mode == "exact")
    shown = f"{len(differences)} arguments of {options.tool_name!r} differ from the {len(expected)} expected"
    return _answer(
        not differences, shown, f"{tool} argument mismatch: {'; '.join(differences)}" if differences else None
    )


def _select(occurrence: Literal["first", "last"] | int, matches: list[Call]) -> Call | None:
    if occurrence == "first":
        return matches[0]
    if occurrence == "last":
        return matches[-1]
    return matches[occurrence] if 0 <= occurrence < len(matches) else None


def _differences(expected: Mapping[str, Any], made: Mapping[str, Any], *, exact: bool) -> list[str]:
    differences = []
    for key, value in expected.items():
        if key not in made:
            differences.append(f"missing key {key!r}")
        elif made[key] != value:
            differences.append(f"key {key!r}: expected {value!r}, got {made[key]!r}")
    if exact:
        others = (key for key in made if key not in expected)
        differences += [f"unexpected key {key!r} with value {made[key]!r}" for key in others]
    return differences


def _answer(good: bool, shown: str, published: str | None, missing: tuple[str, ...] = ()) -> Score:
    return labelled_score(float(good), f"Scores {good:d}: {shown}", {"reason": published}, missing=missing)
