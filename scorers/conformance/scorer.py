"""The native scorer, ``trajectory``: how much of a run would have to be edited to be what the rule expects.

::

    value = 1 - edits / (E + A + C)

    E  calls of the shortest run the pattern accepts
    A  calls made, without those ``allow_extra`` lets pass for free
    C  broken constraints and limits (``max_calls``, ``max_errors``); in a rule without a pattern, all of them

    edits  1  for a missing call, for an extra or a forbidden one, and for each broken constraint or limit
           2  for a call out of order or with wrong arguments: it is missing where and as it was expected, and extra where
              and as it is (1 where its tool may be called besides the pattern)

This is the fitness of alignment-based conformance checking (Adriansyah, van Dongen and van der Aalst, 2011) with unit
costs. On a plain sequence it is 1 - indel/(|E| + |A|) = 2 LCS/(|E| + |A|), the F1 of the longest common subsequence,
exactly: so a call in the wrong place, or right but for its arguments, must cost what it costs there, and is told apart
by its outcome, not by its price. E belongs to the pattern, not to the reading of the run: with that, to leave out a call
that every best reading needs never raises the value.

A run passes when the value reaches the rule's ``pass`` and nothing is forbidden or broken. Nothing expected and nothing
called is 1. Precision, recall and F1 of the same alignment are in the details.

Calls of one step are unordered: the value is the best over every order they can have had. Where a step stands for an
order nobody knows (``Trajectory.unsure_steps``) and some order would not pass, the label is ``ambiguous``.

Not scored (outcome ``unscored``): calls that were not executed, failed attempts under ``retries: collapse``, and calls
that ``allow_extra`` lets pass. Arguments that nobody captured count as right, and ``unobserved`` in the details lists
those calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import factorial, prod
from typing import Any

from scorers.conformance.constraints import ORDERED, CompiledConstraint, report
from scorers.conformance.diagnosis import Diagnosis, read_run, without_retries
from scorers.conformance.expectation import read_expectation
from scorers.conformance.explanation import Edit, explain
from scorers.conformance.observation import MAX_NAME, Observer, Token
from scorers.conformance.pattern import Pattern, PatternError, number_of
from scorers.rules.arguments import Embed
from scorers.rules.model import Element, Expect, Rule
from scorers.rules.names import is_exact, show_name
from scorers.rules.parsing import parse_rules
from scorers.rules.regexes import escape
from scorers.score import Label, Score
from scorers.trajectory import ToolCall, Trajectory

NAME = "trajectory"
VERSION = "trajectory@1"

MAX_SHAPES = 256
MAX_KNOWN_RESTS = 2_000
MAX_SHAPE_CALLS = 64
MAX_ORDERS = 120
"""Orders of unsure steps that are tried; with more of them than that nobody can say, and the label is ambiguous."""

Shape = tuple[tuple[Token, ...], tuple[int, ...], tuple[bool, ...], frozenset[int]]


class TrajectoryScorer:
    """Scores runs against one rule. Raises PatternError or ValueError for a rule that cannot be used."""

    def __init__(self, rule: Rule, embed: Embed | None = None) -> None:
        self._limits = rule.expect or Expect()
        self._pass = rule.pass_ - 1e-9
        expectation = read_expectation(rule.expect)
        self._element: Element | None = expectation.element
        self._pattern = Pattern(self._element) if self._element is not None else None
        tools = list(self._pattern.tools) if self._pattern else []
        self._constraints = [
            CompiledConstraint(one, lambda tool: 1 << number_of(tool, tools)) for one in rule.constraints
        ]
        expected = len(self._pattern.tools) if self._pattern else None
        self._observer = Observer(
            tools,
            expected,
            expectation.allow_extra,
            expectation.forbid,
            embed,
            by_name=self._limits.retries == "collapse",
        )
        self._refuse_contradictions()
        self._expected = len(self._pattern.fewest(self._pattern.start)) if self._pattern else 0
        limits = (self._limits.max_calls, self._limits.max_errors)
        self._checks = len(self._constraints) + sum(limit is not None for limit in limits)
        self._needs_failures = self._limits.max_errors is not None or self._limits.retries == "collapse"
        self._order_matters = (
            (self._pattern is not None and self._pattern.bag is None)
            or self._limits.retries == "collapse"
            or any(one.template in ORDERED for one in self._constraints)
        )
        self._known: dict[Shape, tuple[Diagnosis, Score]] = {}

    @property
    def pattern(self) -> Pattern | None:
        """The rule's pattern; None where every call is fine."""
        return self._pattern

    def score(self, trajectory: Trajectory) -> Score:
        """The score of one run. Raises SearchLimitError where run and pattern are too entangled to search."""
        return self.read(trajectory)[1]

    def read(self, trajectory: Trajectory) -> tuple[Diagnosis, Score]:
        """The score, and the reading it comes from."""
        # Production repeats itself: what follows from the shape alone is worked out once for each shape.
        calls = trajectory.calls
        tokens = self._observer.tokens(calls)
        steps = tuple([call.step for call in calls])
        failures = tuple([call.status == "error" for call in calls]) if self._needs_failures else ()
        shape = (tokens, steps, failures, trajectory.unsure_steps)
        known = self._known.get(shape)
        if known is None:
            known = self._read_shape(shape)
            if len(calls) <= MAX_SHAPE_CALLS:
                self._remember(shape, known)
        return known

    def _remember(self, shape: Shape, result: tuple[Diagnosis, Score]) -> None:
        # Agents make up names and lengths: few shapes are kept, small ones only, and all go when there are too many.
        if max([len(call.name) for call in result[0].calls], default=0) <= MAX_NAME:
            if len(self._known) >= MAX_SHAPES:
                self._known.clear()
            self._known[shape] = result

    def _read_shape(self, shape: Shape) -> tuple[Diagnosis, Score]:
        reading = self._align(shape)
        score = self._judge(reading, shape)
        # The score is that of the best order. If even that fails, no order passes, and there is nothing ambiguous in it.
        if shape[3] and score.label == "pass" and self._order_matters and not self._passes_in_any_order(shape):
            sentence = (
                f"{score.explanation}; ambiguous: the order of some calls is not known, and in another they would fail"
            )
            score = replace(score, label="ambiguous", explanation=sentence)
        return reading, score

    def _align(self, shape: Shape) -> Diagnosis:
        tokens, steps, failures, _ = shape
        if self._element is not None and self._pattern is not None and self._pattern.size > MAX_KNOWN_RESTS:
            self._pattern = Pattern(self._element)  # forgets the rests of runs gone by
        observed = self._observer.observed(tokens)
        counted = [at for at, call in enumerate(observed) if call.executed]
        if list(steps) != sorted(set(steps)):
            # Within a step by what is known of a call, so that the order in which unordered calls are listed is nothing.
            counted.sort(key=lambda at: (steps[at], _rank(tokens[at]), bool(failures) and failures[at]))
        if self._limits.retries == "collapse":
            counted = without_retries(observed, steps, failures, counted)
        return read_run(self._pattern, self._constraints, observed, steps, counted)

    def _judge(self, reading: Diagnosis, shape: Shape) -> Score:
        edits = [*self._edits(reading), *self._broken(reading, shape[2])]
        broken = sum(edit.kind == "broken" for edit in edits)
        made = sum([reading.calls[at].cost for at in reading.counted])
        sizes = [self._expected, made]
        if checks := broken if self._pattern else self._checks:
            sizes.append(checks)
        total = sum(sizes)
        value = (total - sum([edit.cost for edit in edits])) / total if total else 1.0
        fine = value >= self._pass and not broken and "forbidden" not in reading.outcomes
        label: Label = "pass" if fine else "fail"
        matched = reading.outcomes.count("matched")
        return Score(
            value,
            label,
            explain(value, edits, sizes, matched),
            tuple(reading.outcomes),
            tuple(self._show(tool) for tool in reading.missing()),
            self._details(reading, matched, made),
        )

    def _edits(self, reading: Diagnosis) -> Iterator[Edit]:
        for gap in reading.gaps:
            wrong = reading.stand_ins.get(gap)
            if wrong is None:
                yield Edit("missing", self._show(reading.pairs[gap][0]), 1)
            else:
                kind = "out of order" if reading.outcomes[wrong] == "out_of_order" else "wrong arguments"
                yield Edit(kind, reading.calls[wrong].name, 1 + reading.calls[wrong].cost)
        if "extra" in reading.outcomes or "forbidden" in reading.outcomes:
            for at in reading.counted:
                if reading.outcomes[at] in ("extra", "forbidden"):
                    yield Edit(reading.outcomes[at], reading.calls[at].name, 1)

    def _broken(self, reading: Diagnosis, failures: Sequence[bool]) -> Iterator[Edit]:
        for constraint, verdict in zip(self._constraints, reading.verdicts, strict=True):
            if verdict.violated:
                yield Edit("broken", constraint.text, 1)
        limits = self._limits
        if limits.max_calls is not None and len(reading.counted) > limits.max_calls:
            yield Edit("broken", f"max_calls {limits.max_calls}", 1)
        if limits.max_errors is not None and sum(failures[at] for at in reading.counted) > limits.max_errors:
            yield Edit("broken", f"max_errors {limits.max_errors}", 1)

    def _details(self, reading: Diagnosis, matched: int, made: int) -> dict[str, Any]:
        expected = len(reading.pairs)
        scored = len(reading.outcomes) - reading.outcomes.count("unscored")
        details: dict[str, Any] = {
            "expected": self._expected,
            "made": made,
            "matched": matched,
            "precision": matched / scored if scored else 1.0,
            "recall": matched / expected if expected else 1.0,
            "f1": 2 * matched / (scored + expected) if scored + expected else 1.0,
        }
        if self._constraints:
            details["constraints"] = [
                report(one, verdict) for one, verdict in zip(self._constraints, reading.verdicts, strict=True)
            ]
        if unobserved := [at for at in reading.counted if reading.calls[at].surely != reading.calls[at].possibly]:
            details["unobserved"] = sorted(unobserved)
        return details

    def _passes_in_any_order(self, shape: Shape) -> bool:
        tokens, steps, failures, unsure = shape
        groups = [[at for at, step in enumerate(steps) if step == wanted] for wanted in sorted(unsure)]
        # Counted before any is made: the orders of a step of a dozen calls would not fit into memory.
        if prod(factorial(min(len(group), MAX_ORDERS)) for group in groups) > MAX_ORDERS:
            return False
        for order in product(*(permutations(group) for group in groups)):
            place = {at: rank for group in order for rank, at in enumerate(group)}
            keys = [(step, place.get(at, 0)) for at, step in enumerate(steps)]
            ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
            sure = (tokens, tuple(ranks[key] for key in keys), failures, frozenset[int]())
            if self._judge(self._align(sure), sure).label != "pass":
                return False
        return True

    def _refuse_contradictions(self) -> None:
        names = [tool.tool for tool in self._pattern.tools] if self._pattern else []
        for name in names:
            if isinstance(name, str) and is_exact(name) and self._observer.is_forbidden(name):
                raise PatternError(f"{name} is both expected and forbidden")

    def _show(self, number: int) -> str:
        return show_name(self._pattern.tools[number].tool) if self._pattern else ""


def create(**options: Any) -> Callable[..., Score]:
    """A scorer of plain calls: ``expected`` are the tools of ``mode`` (strict unless given), in the pattern language.

    Options are those of ``expect`` besides its pattern (``mode``, ``allow_extra``, ``forbid``, ``max_calls``, ...),
    ``constraints``, ``pass``, and ``arguments_mode`` (subset unless given) for all tools. Raises ValueError.
    """
    arguments_mode = options.pop("arguments_mode", "subset")
    of_rule = {key: options.pop(key) for key in ("constraints", "pass") if key in options}

    def build(expected: Sequence[Mapping[str, Any]]) -> TrajectoryScorer:
        tools = [_expected_tool(call, arguments_mode) for call in _checked(expected, "expected")]
        expect = {"mode": "strict", **options, "tools": tools}
        file = parse_rules({"rules": [{"name": NAME, "expect": expect, **of_rule}]})
        return TrajectoryScorer(file.rules[0])

    def scorer(*, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> Score:
        calls = [
            ToolCall(call["tool"], call.get("args"), step=step) for step, call in enumerate(_checked(actual, "actual"))
        ]
        return build(expected).score(Trajectory(calls))

    build([{"tool": NAME}])
    return scorer


def _checked(calls: Any, side: str) -> Sequence[Mapping[str, Any]]:
    """The calls, if that is what they are. Raises TypeError naming the side and the place."""
    if not isinstance(calls, list | tuple):
        raise TypeError(f"{side} must be a list of calls, got {type(calls).__name__}")
    for at, call in enumerate(calls):
        given = call if isinstance(call, Mapping) else {}
        if not isinstance(given.get("tool"), str) or not isinstance(given.get("args", {}), Mapping | None):
            raise TypeError(f"{side}[{at}] must be an object with a string `tool` and an object `args`, or none")
    return calls


def _expected_tool(call: Mapping[str, Any], arguments_mode: str) -> dict[str, Any]:
    """A call as a tool of a rule: its name means itself, its arguments are literals."""
    tool = {"tool": {"regex": f"^{escape(call['tool'])}$"} if not is_exact(call["tool"]) else call["tool"]}
    if call.get("args") is None:
        return tool
    arguments = {key: {"exact": value} for key, value in call["args"].items()}
    return {**tool, "arguments": arguments, "arguments_mode": arguments_mode}


def _rank(token: Token) -> tuple[str, int]:
    return (token, 0) if isinstance(token, str) else token
