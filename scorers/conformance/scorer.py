"""The native scorer, ``trajectory``: how much of a run would have to be edited to be what the rule expects.

::

    value = 1 - edits / (E + A + C)

    E  calls of the shortest run that the pattern accepts
    A  calls made, without those that ``allow_extra`` makes free
    C  violated constraints and limits (``max_calls``, ``max_errors``); in a rule without a pattern, all of them

    edits  1  for a missing call, for an extra or a forbidden one, and for each violated constraint or limit
           2  for a call out of order or with wrong arguments: it is missing where it was expected and extra where it is
              (1 if its tool may be called besides the pattern)

This is the fitness of alignment-based conformance checking (Adriansyah, van Dongen and van der Aalst, 2011) with unit
costs. On a plain sequence it is 1 - indel/(|E| + |A|) = 2 LCS/(|E| + |A|), exactly the F1 of the longest common
subsequence. So a call that is out of order or has wrong arguments must cost what it costs there; it differs in its
outcome, not in its cost. E belongs to the pattern, not to the alignment chosen: this way, leaving out a call that every
best alignment needs never raises the value.

A run passes if the value reaches the rule's ``pass`` and nothing is forbidden or violated. Nothing expected and nothing
called is 1. Precision, recall and F1 of the same alignment are in the details.

Calls of one step are unordered: the value is the best over every order they can have had.

Not scored (outcome ``unscored``): calls that were not executed, failed attempts under ``retries: collapse``, and calls
that ``allow_extra`` makes free. Arguments that were not captured, or values that were masked, count as right, and
``unobserved`` in the details lists those calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scorers.call_scorer import Scorer
from scorers.calls import Call, optional_arguments, parse_calls
from scorers.conformance.alignment import is_ascending
from scorers.conformance.constraints import ORDERED, CompiledConstraint, constraint_details
from scorers.conformance.diagnosis import Diagnosis, diagnose, without_retries
from scorers.conformance.difference import Difference, compare, show_tool
from scorers.conformance.expectation import compile_expectation
from scorers.conformance.explanation import Edit, explain
from scorers.conformance.observation import MAX_NAME, ObservedCall, Observer
from scorers.conformance.pattern import NumberedTools, Pattern, PatternError
from scorers.options import Options
from scorers.rules.arguments import Embed
from scorers.rules.mismatches import FindMismatches, Mismatch, compile_mismatches
from scorers.rules.model import Element, Expect, Rule
from scorers.rules.names import exactly, format_name, is_exact
from scorers.rules.parsing import parse_rules
from scorers.score import Label, Score, reaches
from scorers.trajectory import DoubtName, ToolCall, Trajectory
from scorers.work import Work

NAME = "trajectory"
VERSION = "trajectory@1"
OPTIONS: Final[type[Options]] = Options
"""In a rule it has none: it scores what the rule expects."""

MAX_CACHED_SHAPES = 256
MAX_CACHED_RESIDUALS = 2_000
MAX_SHAPE_CALLS = 64
"""Calls of a run whose shape is cached."""

Shape = tuple[tuple[ObservedCall, ...], tuple[int, ...], tuple[bool, ...]]


class Result:
    """What follows from the shape of a run: made once for all runs of that shape."""

    def __init__(self, diagnosis: Diagnosis, score: Score, cost: int) -> None:
        self.diagnosis, self.score = diagnosis, score
        self.cost = cost
        """How much work it took, in units."""
        self.evaluations: Any = None
        """What the rule makes of it, once it has."""


class TrajectoryScorer:
    """Scores runs by one rule. Raises PatternError or ValueError for a rule that cannot be used."""

    def __init__(self, rule: Rule, embed: Embed | None = None) -> None:
        self._limits = rule.expect or Expect()
        self._pass = rule.pass_
        self._embed = embed
        expectation = compile_expectation(rule.expect)
        self._element: Element | None = expectation.element
        self._pattern = Pattern(self._element) if self._element is not None else None
        numbered = NumberedTools(self._pattern.tools if self._pattern else ())
        tools = numbered.tools
        self._constraints = [
            CompiledConstraint(one, lambda tool: 1 << numbered.number(tool)) for one in rule.constraints
        ]
        self.collapses_retries = collapse = self._limits.retries == "collapse"
        """Whether a failed call does not count once it was retried."""
        self._observer = Observer(
            tools,
            len(self._pattern.tools) if self._pattern else None,
            expectation.allow_extra,
            expectation.forbid,
            embed,
            distinguish_names=collapse,
        )
        self._refuse_contradictions()
        self._expected = len(self._pattern.fewest(self._pattern.start)) if self._pattern else 0
        limits = (self._limits.max_calls, self._limits.max_errors)
        self._checks = len(self._constraints) + sum(limit is not None for limit in limits)
        self._needs_failures = self._limits.max_errors is not None or collapse
        order_matters = (
            (self._pattern is not None and self._pattern.bag is None)
            or collapse
            or any(one.template in ORDERED for one in self._constraints)
        )
        doubts: dict[DoubtName, bool] = {"uncertain_order": order_matters, "unobserved_results": self._needs_failures}
        self.immaterial = frozenset([doubt for doubt, matters in doubts.items() if not matters])
        """Doubts that cannot change a verdict by this rule, whatever the run."""
        self._results: dict[Shape, Result] = {}
        self._shown_tools = [(format_name(tool.tool), show_tool(tool)) for tool in tools]
        self._mismatches: dict[int, FindMismatches] = {}  # by tool, compiled when one is first needed

    @property
    def pattern(self) -> Pattern | None:
        """The rule's pattern; None if the rule has none."""
        return self._pattern

    def score(self, trajectory: Trajectory, work: Work | None = None) -> Score:
        """Returns the score of one run. Raises WorkLimitError."""
        return self.diagnose(trajectory, work)[1]

    def diagnose(self, trajectory: Trajectory, work: Work | None = None) -> tuple[Diagnosis, Score]:
        """Returns the diagnosis of one run and its score. Raises WorkLimitError."""
        result = self.result(trajectory, work)
        return result.diagnosis, result.score

    def result(self, trajectory: Trajectory, work: Work | None = None) -> Result:
        """Returns what follows from the shape of one run: one object for all runs of a shape. Raises WorkLimitError."""
        # Production traffic repeats itself: what follows from the shape alone is computed once per shape.
        calls, work = trajectory.calls, work or Work()
        shape = self._shape(calls, work)
        known = self._results.get(shape)
        if known is not None:
            # As much as the first time: whether a run is beyond the limit must not depend on what was scored before.
            work.spend(known.cost, "expect")
            return known
        before = work.left
        diagnosis = self._align(shape, work)
        result = Result(diagnosis, self._score(diagnosis, shape), before - work.left)
        if len(calls) <= MAX_SHAPE_CALLS:
            self._cache(shape, result)
        return result

    def diagnose_as_listed(self, trajectory: Trajectory, work: Work) -> Diagnosis:
        """Returns the diagnosis with the calls of each step in the order listed, unless another order takes fewer edits.

        Raises WorkLimitError.
        """
        diagnosis, _ = self.diagnose(trajectory, work)
        steps = [call.step for call in trajectory.calls]
        if is_ascending(steps):
            return diagnosis
        # Without constraints, which may need another order than the pattern does.
        places, counted = tuple(range(len(steps))), sorted(diagnosis.counted)
        listed = diagnose(self._pattern, [], diagnosis.calls, places, counted, work)
        return listed if self._cost(listed) == self._cost(diagnosis) else diagnosis

    def _cost(self, diagnosis: Diagnosis) -> int:
        return sum([edit.cost for edit in self._edits(diagnosis)])

    def _shape(self, calls: Sequence[ToolCall], work: Work) -> Shape:
        observed = self._observer.observe(calls, work)
        steps = tuple([call.step for call in calls])
        # Left out where no limit or retry looks at them, so that runs that differ only in failures share a shape.
        failures = tuple([call.status == "error" for call in calls]) if self._needs_failures else ()
        return observed, steps, failures

    def difference_key(self, trajectory: Trajectory) -> Hashable:
        """Returns what is equal for runs whose difference reads the same without values, apart from wrong arguments.

        Raises WorkLimitError.
        """
        return self._shape(trajectory.calls, Work()), tuple([call.name for call in trajectory.calls])

    def difference(self, trajectory: Trajectory) -> Difference:
        """Returns what differs between the run and what the rule expects. Raises WorkLimitError."""
        work = Work()
        diagnosis, _ = self.diagnose(trajectory, work)
        failures = [call.status == "error" for call in trajectory.calls]
        broken = [edit.name for edit in self._violations(diagnosis, failures)]

        def find_mismatches(tool: int, arguments: Mapping[str, Any]) -> Sequence[Mismatch]:
            find = self._mismatches.get(tool)
            if find is None:
                find = self._mismatches[tool] = compile_mismatches(tools[tool], self._embed)
            return find(arguments, work)

        tools = self._pattern.tools if self._pattern else ()
        has_pattern = self._pattern is not None
        return compare(self._shown_tools, diagnosis, trajectory.calls, broken, find_mismatches, has_pattern=has_pattern)

    def forbidden(self, trajectory: Trajectory, work: Work) -> Sequence[int]:
        """Returns the calls that ran and that the rule forbids, by index. Raises WorkLimitError."""
        return self._observer.forbidden(trajectory.calls, work) if self._limits.forbid else ()

    def is_final(self, trajectory: Trajectory, score: Score, work: Work | None = None) -> bool:
        """Whether the label would stand whatever further calls the run had made. Raises WorkLimitError."""
        if "forbidden" in score.outcomes:
            return True
        if self.collapses_retries:
            # A retry that was not seen would take any failed call out of the count: only what the others are is sure.
            trajectory = replace(trajectory, calls=[call for call in trajectory.calls if call.status != "error"])
        diagnosis, sure = self.diagnose(trajectory, work)
        if score.label == "pass":
            limits = (self._limits.max_calls, self._limits.max_errors)
            may_have_more = self._observer.allows_anything and not self._constraints and limits == (None, None)
            return may_have_more and sure.label == "pass"
        return self._is_beyond_repair(trajectory, diagnosis)

    def _is_beyond_repair(self, trajectory: Trajectory, diagnosis: Diagnosis) -> bool:
        """Whether a limit or constraint is broken that no further call can mend, or a call is extra whatever follows."""
        failures = [call.status == "error" for call in trajectory.calls]
        if any(edit.name.startswith("max_") for edit in self._violations(diagnosis, failures)):
            return True
        if any(result.is_final for result in diagnosis.constraint_results):
            return True
        # Final only where nothing less than 1 passes: under a lower threshold right calls that follow can outweigh it.
        # An extra call that a tool of the rule fits may be the match of a longer run, so it is not final either.
        unwanted = (diagnosis.outcomes[at] == "extra" and not diagnosis.calls[at].possibly for at in diagnosis.counted)
        return reaches(self._pass, 1.0) and any(unwanted)

    def _cache(self, shape: Shape, result: Result) -> None:
        # Names and lengths come from agents, so only small shapes are cached. When the cache is full, it is cleared.
        longest = MAX_NAME
        for call in result.diagnosis.calls:
            if len(call.name) > longest:
                return
        if len(self._results) >= MAX_CACHED_SHAPES:
            self._results.clear()
        self._results[shape] = result

    def _align(self, shape: Shape, work: Work) -> Diagnosis:
        observed, steps, failures = shape
        if self._element is not None and self._pattern is not None and self._pattern.size > MAX_CACHED_RESIDUALS:
            self._pattern = Pattern(self._element)  # drops the residuals that earlier runs reached
        counted = [index for index, call in enumerate(observed) if call.executed]
        if not is_ascending(steps):
            # The order in which the calls of one step are listed must not matter, so they are sorted by what is known of them.
            counted.sort(key=lambda at: (steps[at], *_sort_key(observed[at]), bool(failures) and failures[at]))
        if self.collapses_retries:
            counted = without_retries(observed, steps, failures, counted)
        return diagnose(self._pattern, self._constraints, observed, steps, counted, work)

    def _score(self, diagnosis: Diagnosis, shape: Shape) -> Score:
        violations = self._violations(diagnosis, shape[2])
        edits, violated = self._edits(diagnosis) + violations, len(violations)
        made = 0
        for index in diagnosis.counted:
            made += diagnosis.calls[index].cost
        sizes = [self._expected, made]
        # Beside a pattern, constraints that hold must not raise the value of a run that calls the wrong tools.
        if checks := violated if self._pattern else self._checks:
            sizes.append(checks)
        total = sum(sizes)
        value = (total - sum([edit.cost for edit in edits])) / total if total else 1.0
        passed = reaches(value, self._pass) and not violated and "forbidden" not in diagnosis.outcomes
        label: Label = "pass" if passed else "fail"
        matched = diagnosis.outcomes.count("matched")
        return Score(
            value,
            label,
            explain(value, edits, sizes, matched),
            tuple(diagnosis.outcomes),
            tuple([self._tool_name(tool) for tool in diagnosis.missing()]),
            self._details(diagnosis, matched, made),
        )

    def _edits(self, diagnosis: Diagnosis) -> list[Edit]:
        edits: list[Edit] = []
        for gap in diagnosis.gaps:
            substitute = diagnosis.substitutes.get(gap)
            if substitute is None:
                edits.append(Edit("missing", self._tool_name(diagnosis.expected[gap]), 1))
            else:
                call = diagnosis.calls[substitute]
                edits.append(Edit(diagnosis.outcomes[substitute].replace("_", " "), call.name, 1 + call.cost))
        # Most runs have neither, and the test for it is far cheaper than the loop.
        if "extra" in diagnosis.outcomes or "forbidden" in diagnosis.outcomes:
            for index in diagnosis.counted:
                outcome = diagnosis.outcomes[index]
                if outcome == "extra" or outcome == "forbidden":
                    edits.append(Edit(outcome, diagnosis.calls[index].name, 1))
        return edits

    def _violations(self, diagnosis: Diagnosis, failures: Sequence[bool]) -> list[Edit]:
        broken: list[Edit] = []
        for at, result in enumerate(diagnosis.constraint_results):
            if result.violated:
                broken.append(Edit("broken", self._constraints[at].text, 1))
        limits = self._limits
        if limits.max_calls is not None and len(diagnosis.counted) > limits.max_calls:
            broken.append(Edit("broken", f"max_calls {limits.max_calls}", 1))
        if limits.max_errors is not None and sum(failures[index] for index in diagnosis.counted) > limits.max_errors:
            broken.append(Edit("broken", f"max_errors {limits.max_errors}", 1))
        return broken

    def _details(self, diagnosis: Diagnosis, matched: int, made: int) -> dict[str, Any]:
        expected = len(diagnosis.expected)
        scored = len(diagnosis.outcomes) - diagnosis.outcomes.count("unscored")
        details: dict[str, Any] = {
            "expected": self._expected,
            "made": made,
            "matched": matched,
            "precision": matched / scored if scored else 1.0,
            "recall": matched / expected if expected else 1.0,
            "f1": 2 * matched / (scored + expected) if scored + expected else 1.0,
        }
        if self._constraints:
            results = zip(self._constraints, diagnosis.constraint_results, strict=True)
            details["constraints"] = [constraint_details(constraint, result) for constraint, result in results]
        calls = diagnosis.calls
        if unobserved := [at for at in diagnosis.counted if calls[at].definitely != calls[at].possibly]:
            details["unobserved"] = sorted(unobserved)
        return details

    def _refuse_contradictions(self) -> None:
        names = [tool.tool for tool in self._pattern.tools] if self._pattern else []
        for name in names:
            if isinstance(name, str) and is_exact(name) and self._observer.is_forbidden(name):
                raise PatternError(f"{name} is both expected and forbidden")

    def _tool_name(self, number: int) -> str:
        return format_name(self._pattern.tools[number].tool) if self._pattern else ""


def create(**options: Any) -> Scorer:
    """Returns a scorer of plain calls: ``expected`` are the tools of ``mode`` (default strict), in the pattern language.

    Options are those of ``expect`` besides its pattern (``mode``, ``allow_extra``, ``forbid``, ``max_calls``, ...),
    ``constraints``, ``pass``, and ``arguments_mode`` (default subset) for all tools. Raises ValueError.
    """
    arguments_mode = options.pop("arguments_mode", "subset")
    of_rule = {key: options.pop(key) for key in ("constraints", "pass") if key in options}

    def build(expected: Sequence[Call]) -> TrajectoryScorer:
        tools = [_expected_tool(call, arguments_mode) for call in expected]
        expect = {"mode": "strict", **options, "tools": tools}
        file = parse_rules({"rules": [{"name": NAME, "expect": expect, **of_rule}]})
        return TrajectoryScorer(file.rules[0])

    def scorer(
        *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        native = build(parse_calls(expected, "expected"))
        calls = parse_calls(actual, "actual")
        return native.score(
            Trajectory([ToolCall(call.tool, optional_arguments(call), step=at) for at, call in enumerate(calls)]), work
        )

    # Wrong options are refused now, not at the first run. The call stands for any.
    build([Call(NAME)])
    return scorer


def _expected_tool(call: Call, arguments_mode: str) -> dict[str, Any]:
    """A call as a tool of a rule: its name matches exactly, its arguments are literals."""
    name, arguments = exactly(call.tool), optional_arguments(call)
    if arguments is None:
        return {"tool": name}
    # Wrapped, since a mapping in the place of an argument would be read as a matcher.
    literals = {key: {"exact": value} for key, value in arguments.items()}
    return {"tool": name, "arguments": literals, "arguments_mode": arguments_mode}


def _sort_key(call: ObservedCall) -> tuple[str, int, int]:
    return call.name, call.definitely, call.possibly
