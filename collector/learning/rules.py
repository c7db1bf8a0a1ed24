"""A candidate rule of each group: its pattern, the constraints on arguments, and how far it can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collector.learning.groups import ArgumentKey, Calls, Group, Key
from collector.learning.structure import Node, find_pattern
from collector.learning.values import MIN_CALLS, Constraint
from collector.learning.variants import Variant, least_support
from collector.statistics import Interval, share_interval
from scorers import CompiledRule, Trajectory, compile_rules, parse_rules
from scorers.rules.names import exactly
from scorers.score import Label
from scorers.trajectory import ToolCall

NOISE = 0.1
"""Share of the runs that may do the same wrong thing without its being learnt."""
MIN_RUNS = 10
"""Runs of a kind that a rule is learnt from."""
FEW_RUNS = 50
"""Runs below which a rule is marked as one from a small sample."""
MIN_SHARE = 0.5
"""Share of the runs that a rule must match: another one says less than the list of variants."""
MAX_TESTS = 3
"""Real runs that pass, as tests of a rule; one that fails is added."""
_VALUES = {"constant", "enum"}


class NotLearntError(ValueError):
    """There is no rule for these runs; the message says why."""


@dataclass(frozen=True, slots=True)
class RunTest:
    """A real run as a test of a rule; ``runs`` are like it."""

    calls: Sequence[Any]
    passes: bool
    runs: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule learnt from the runs of one group."""

    key: Key
    pattern: Node
    collapse: bool
    """A failed call and its retry count as one."""
    arguments: Mapping[str, Mapping[str, Constraint]]
    copied: Mapping[ArgumentKey, tuple[ArgumentKey, int, int]]
    """Arguments that repeat an earlier one: which, in how many calls, of how many."""
    runs: int
    tried: int
    """Runs of the sample that the rule passes or fails; on others, values of arguments are masked."""
    matching: int
    """Those that it passes."""
    tests: Sequence[RunTest] = field(default=())

    @property
    def interval(self) -> Interval:
        """Of the share of matching runs, with a confidence of 95 %."""
        return share_interval(self.matching, self.tried)


def learn_rule(key: Key, group: Group, noise: float = NOISE) -> Candidate:
    """Returns the rule of a group. Raises NotLearntError for too few runs, and where no pattern fits enough of them."""
    if group.runs < MIN_RUNS:
        raise NotLearntError(f"too few runs: {group.runs}; at least {MIN_RUNS} are needed")
    collapse = group.retried >= least_support(group.runs, noise)
    pattern = find_pattern(group.variants[collapse], noise)
    if pattern is None:
        raise NotLearntError("no tool is called often enough")
    arguments = dict(_arguments(group, noise))
    # Counted by the scorer that will use the rule: each split leaves some runs out, and those add up.
    by_name = compile_rule(key, expectation(pattern, collapse, {}))
    # By the example of each variant, since the runs themselves are not kept.
    fitting = sum(
        runs
        for variant, runs in group.variants[False].items()
        if _label(by_name, [_only(call, {}) for call in group.examples[variant]]) == "pass"
    )
    if fitting < MIN_SHARE * group.runs:
        raise NotLearntError(f"the best pattern fits {fitting} of {group.runs} runs")
    rule = compile_rule(key, expectation(pattern, collapse, arguments))
    tests = list(_tests(group, rule, arguments))
    copied = dict(_copied(group, arguments, noise))
    # What single arguments leave out as noise adds up over all of them.
    labels = Counter(_label(rule, calls) for calls in group.sample)
    tried = labels["pass"] + labels["fail"]
    return Candidate(key, pattern, collapse, arguments, copied, group.runs, tried, labels["pass"], tests)


def match_of(key: Key) -> dict[str, Any]:
    """Returns the ``match`` of a rule for this kind of runs alone."""
    return {name: exactly(value) for name, value in key._asdict().items() if value is not None}


def element(node: Node, arguments: Mapping[str, Mapping[str, Constraint]]) -> Any:
    """Returns a pattern as data of a rule file."""
    if node.kind == "tool":
        given = {name: constraint.matcher for name, constraint in arguments.get(node.tool, {}).items()}
        return {"tool": exactly(node.tool), **({"arguments": given} if given else {})}
    if node.kind == "optional":
        return {"optional": element(node.children[0], arguments)}
    if node.kind == "repeat":
        limits = {"min": node.low} if node.high is None else {"min": node.low, "max": node.high}
        return {"repeat": element(repeated(node), arguments), **limits}
    return {node.kind: [element(child, arguments) for child in node.children]}


def repeated(node: Node) -> Node:
    """Returns what a ``repeat`` repeats."""
    return node.children[0] if node.children else Node("tool", node.runs, node.total, node.tool)


def expectation(pattern: Node, collapse: bool, arguments: Mapping[str, Mapping[str, Constraint]]) -> dict[str, Any]:
    """Returns the ``expect`` of a rule."""
    return {**element(pattern, arguments), **({"retries": "collapse"} if collapse else {})}


def compile_rule(key: Key, expect: Mapping[str, Any]) -> CompiledRule:
    """Returns the rule, ready to score. Raises RuleError, which would be a mistake of this package."""
    (rule,) = compile_rules(parse_rules({"rules": [{"name": "candidate", "match": match_of(key), "expect": expect}]}))
    return rule


def _label(rule: CompiledRule, calls: Calls) -> Label:
    return rule.evaluate(Trajectory(list(calls)))[0].score.label


def _arguments(group: Group, noise: float) -> Iterator[tuple[str, dict[str, Constraint]]]:
    found: dict[str, dict[str, Constraint]] = {}
    for key, values in group.arguments.items():
        calls = group.captured[key.tool]
        # An argument that is often absent is optional: a matcher would fail the calls without it.
        if calls < MIN_CALLS or values.count < (1 - noise) * calls:
            continue
        constraint = values.constraint(noise) or Constraint("present", {"present": True}, values.count, calls)
        found.setdefault(key.tool, {})[key.name] = constraint
    yield from found.items()


def _copied(
    group: Group, arguments: Mapping[str, Mapping[str, Constraint]], noise: float
) -> Iterator[tuple[ArgumentKey, tuple[ArgumentKey, int, int]]]:
    for key, sources in group.copied.items():
        constraint = arguments.get(key.tool, {}).get(key.name)
        # A constant, or one of a few values, repeats itself without being copied.
        if not sources or constraint is None or constraint.kind in _VALUES:
            continue
        (source, times), calls = sources.most_common(1)[0], group.arguments[key].count
        if times >= (1 - noise) * calls:
            yield key, (source, times, calls)


def _tests(group: Group, rule: CompiledRule, arguments: Mapping[str, Mapping[str, Constraint]]) -> Iterator[RunTest]:
    """Yield real runs, the most frequent variants first, with the arguments that the rule looks at."""
    chosen: Counter[bool] = Counter()
    for variant, runs in group.variants[False].most_common():
        kept = [_only(call, arguments) for call in group.examples[variant]]
        label = _label(rule, kept)
        passes = label == "pass"
        # Where a value is masked, a run is neither.
        if label in ("pass", "fail") and chosen[passes] < (MAX_TESTS if passes else 1):
            chosen[passes] += 1
            yield RunTest(list(_test_calls(kept)), passes, runs)


def _only(call: ToolCall, arguments: Mapping[str, Mapping[str, Constraint]]) -> ToolCall:
    constrained = arguments.get(call.name, {})
    given = call.arguments
    kept = None if given is None or not constrained else {name: given[name] for name in constrained if name in given}
    return replace(call, arguments=kept, arguments_text=None)


def _test_calls(calls: Calls) -> Iterator[Any]:
    steps: dict[int, list[Any]] = {}
    for call in calls:
        given = {} if call.arguments is None else {"arguments": dict(call.arguments)}
        status = {"status": "error"} if call.status == "error" else {}
        steps.setdefault(call.step, []).append({"tool": call.name, **given, **status})
    yield from (step[0] if len(step) == 1 else {"parallel": step} for step in steps.values())


def variants_in_words(variants: Iterable[tuple[Variant, int]]) -> Iterator[tuple[int, str]]:
    """Yield how many runs are of a variant, and its calls in order, with ``+`` between calls made at once."""
    for variant, runs in variants:
        yield runs, ", ".join(" + ".join(activity.tool for activity in step) for step in variant) or "no calls"
