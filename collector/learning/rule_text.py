"""Candidate rules as the text of a rule file, with what they rest on as comments.

Names and values in it are as they were received: hostile. All of them are written as JSON, or escaped in a comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from collector.figures import percent
from collector.learning.groups import Group, Key, Observations
from collector.learning.rules import (
    FEW_RUNS,
    MIN_RUNS,
    Candidate,
    NotLearntError,
    learn_rule,
    match_of,
    repeated,
    variants_in_words,
)
from collector.learning.structure import Node
from collector.learning.values import Constraint
from collector.learning.variants import least_support
from scorers.quoting import printable, shorten, yaml_line
from scorers.rules.names import exactly
from scorers.wording import quantity

MAX_VARIANTS_SHOWN = 10
"""Variants that are listed for each rule."""
_MAX_NAME = 90
_MAX_SHOWN = 12
_MAX_COMMENT = 1_000

_HEAD = """\
# Candidates, learnt by `rightcall learn` from {runs}: what most of them did, right or wrong.
# Read each before it decides anything. What fewer than {noise:.0%} of the runs of a kind did is taken
# for a mistake. `n of m` is how many runs, or calls, something holds of.
"""


def rule_file(observations: Observations, noise: float) -> tuple[str, int]:
    """Returns the text of a rule file, and how many rules are in it."""
    total = sum(group.runs for group in observations.groups.values())
    lines = [_HEAD.format(runs=quantity(total, "run"), noise=noise).rstrip()]
    lines += [
        f"# {quantity(count, 'run')} {shorten(reason)}: not learnt from."
        for reason, count in observations.left_out.items()
    ]
    rules, tests, refused = [], [], []
    unjudged: dict[Key, int] = {}
    names = _Names()
    everything = observations.tools()
    # The first match wins, so a rule for an agent alone must not stand before one for this agent on a route. Where the
    # latter is refused, the former judges its runs.
    for key in sorted(observations.groups, key=_by_precision):
        group = observations.groups[key]
        try:
            # Its match would be empty, and match the runs of all other kinds.
            if not any(key) and len(observations.groups) > 1:
                raise NotLearntError("a rule without route, intent and agent would match all others, too")
            candidate = learn_rule(key, group, noise)
        except NotLearntError as reason:
            refused += [f"# No rule for {_kind(key)}: {reason}.", *(_variants(group) if group.runs >= MIN_RUNS else ())]
            unjudged[key] = group.runs
            continue
        name = names.of(key)
        others = {kind: unjudged.pop(kind) for kind in list(unjudged) if _is_within(kind, key)}
        evidence = (*_evidence(candidate, group, everything, noise), *_also_judged(others))
        rules += ["", *(f"  {line}" for line in (*evidence, *_rule(name, candidate)))]
        tests += [f"  {line}" for line in _tests(name, candidate)]
    body = ["", "rules:", *rules, *(["", "tests:", *tests] if tests else ())] if names.count else []
    return "\n".join([*lines, *body, *(["", *refused] if refused else []), ""]), names.count


def _by_precision(key: Key) -> tuple[int, str]:
    return -sum(value is not None for value in key), _kind(key)


def _is_within(kind: Key, key: Key) -> bool:
    """Whether the rule for a key matches the runs of a kind."""
    return all(value in (None, of_kind) for value, of_kind in zip(key, kind, strict=True))


def _also_judged(others: Mapping[Key, int]) -> Iterator[str]:
    if others:
        shown = "; ".join(f"{_kind(kind)} ({number})" for kind, number in islice(others.items(), _MAX_SHOWN))
        more = f"; and {quantity(len(others) - _MAX_SHOWN, 'more kind')}" if len(others) > _MAX_SHOWN else ""
        runs = sum(others.values())
        yield _comment(
            f"Also judges {quantity(runs, 'run')} without a rule of their own, from which it was not learnt: {shown}{more}"
        )


def _kind(key: Key) -> str:
    told = [f"{name} {shorten(printable(value))}" for name, value in key._asdict().items() if value is not None]
    return ", ".join(told) or "runs without route, intent and agent"


class _Names:
    """Names of rules, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    @property
    def count(self) -> int:
        return len(self._given)

    def of(self, key: Key) -> str:
        base = shorten(printable(" / ".join(value for value in key if value is not None) or "all runs"), _MAX_NAME)
        number, name = 1, base
        while name in self._given:
            number += 1
            name = f"{base} {number}"
        self._given.add(name)
        return name


def _comment(text: str) -> str:
    return f"# {shorten(printable(text), _MAX_COMMENT)}"


def _evidence(candidate: Candidate, group: Group, everything: Mapping[Key, set[str]], noise: float) -> Iterator[str]:
    (low, high), tried = candidate.interval, candidate.tried
    share = f"{percent(candidate.matching / tried)}%, " if tried else ""
    runs = f"{tried} runs" if tried == candidate.runs else f"a sample of {tried} of the {candidate.runs} runs"
    interval = f"95 % interval {percent(low)}% to {percent(high)}%"
    yield _comment(f"{candidate.matching} of {runs} match ({share}{interval})")
    if candidate.runs < FEW_RUNS:
        yield _comment(f"A small sample: under {FEW_RUNS} runs, what is rare was not seen, and limits are too narrow.")
    yield from _variants(group)
    tools = everything[candidate.key]
    if rare := sorted(tools - set(_tools_of(candidate.pattern))):
        yield _comment(f"In fewer than {least_support(group.runs, noise)} runs: {_list(rare)}")
    elsewhere = set().union(*everything.values()) - tools
    if elsewhere:
        yield _comment(f"Never called here, only by others. If it must not be: forbid: [{_list(sorted(elsewhere))}]")
    for key, (source, times, calls) in candidate.copied.items():
        copied, of = f"{shorten(key.tool)}.{shorten(key.name)}", f"{shorten(source.tool)}.{shorten(source.name)}"
        yield _comment(f"{copied} repeats {of} in {times} of {calls} calls; rules cannot say that yet")


def _variants(group: Group) -> Iterator[str]:
    most = group.variants[False].most_common(MAX_VARIANTS_SHOWN)
    number = len(group.variants[False])
    yield _comment(
        f"{number} variant{'s'[: number > 1]}" + (f", the {len(most)} most frequent:" if number > len(most) else ":")
    )
    yield from (_comment(f"{runs:6}  {calls}") for runs, calls in variants_in_words(most))
    if group.unlike:
        yield _comment(f"{group.unlike:6}  of further variants, which were not kept")


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(yaml_line(shorten(name)) for name in names[:_MAX_SHOWN])
    return shown + (f", and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else "")


def _tools_of(node: Node) -> Iterator[str]:
    if node.tool:
        yield node.tool
    for child in node.children:
        yield from _tools_of(child)


def _rule(name: str, candidate: Candidate) -> Iterator[str]:
    yield f"- name: {yaml_line(name)}"
    yield f"  match: {yaml_line(match_of(candidate.key))}"
    yield "  expect:"
    pattern = candidate.pattern
    lines = (_tool_lines if pattern.kind == "tool" else _lines)(pattern, candidate.arguments)
    yield from (f"    {line}" for line in lines)
    if candidate.collapse:
        yield "    retries: collapse"


def _lines(node: Node, arguments: Mapping[str, Mapping[str, Constraint]]) -> list[str]:
    """Returns an element in lines of YAML: one for a tool alone, else a mapping."""
    support = f"  # {node.runs} of {node.total} runs"
    if node.kind == "tool":
        lines = _tool_lines(node, arguments)
        return [lines[0].removeprefix("tool: ")] if len(lines) == 1 and isinstance(exactly(node.tool), str) else lines
    if node.kind == "optional":
        return _nested("optional", _lines(node.children[0], arguments), support)
    if node.kind == "repeat":
        limits = [f"min: {node.low}"] if node.high is None else [f"min: {node.low}", f"max: {node.high}"]
        return [*_nested("repeat", _lines(repeated(node), arguments), support), *limits]
    items = [_item(_lines(child, arguments)) for child in node.children]
    return [f"{node.kind}:{support}", *(f"  {line}" for item in items for line in item)]


def _tool_lines(node: Node, arguments: Mapping[str, Mapping[str, Constraint]]) -> list[str]:
    given = arguments.get(node.tool)
    constrained = ["arguments:", *(f"  {line}" for line in _argument_lines(given))] if given else []
    return [f"tool: {yaml_line(exactly(node.tool))}  # {node.runs} of {node.total} runs", *constrained]


def _nested(key: str, lines: Sequence[str], support: str) -> list[str]:
    if len(lines) == 1 and lines[0].startswith('"'):
        return [f"{key}: {lines[0]}"]
    return [f"{key}:{support}", *(f"  {line}" for line in lines)]


def _item(lines: Sequence[str]) -> list[str]:
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def _argument_lines(constraints: Mapping[str, Constraint]) -> Iterator[str]:
    for name, constraint in constraints.items():
        support = f"{constraint.kind}, {constraint.hits} of {constraint.calls} calls"
        yield f"{yaml_line(name)}: {yaml_line(constraint.matcher)}  # {support}"


def _tests(rule: str, candidate: Candidate) -> Iterable[str]:
    for number, test in enumerate(candidate.tests, 1):
        yield f"# {test.runs} run{'s'[: test.runs > 1]} with these calls"
        name = yaml_line(f"{'passes' if test.passes else 'fails'} {number}")
        passes = yaml_line(test.passes)
        yield f"- {{name: {name}, rule: {yaml_line(rule)}, passes: {passes}, calls: {yaml_line(list[Any](test.calls))}}}"
