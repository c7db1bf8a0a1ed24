"""Hidden rules of many kinds, the runs that follow them, and runs that are broken in one place."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collector.learning.groups import Key
from collector.learning.rules import compile_rule
from scorers import CompiledRule, ToolCall, Trajectory

KEY = Key("/shop", None, "shop")
Arguments = Mapping[str, tuple[Any, Callable[[random.Random], Any]]]
"""The matcher of each argument, and what makes values of it."""


@dataclass(frozen=True)
class Hidden:
    """A rule: its pattern as data, the arguments of its tools, and how often a call fails and is made again."""

    name: str
    pattern: Mapping[str, Any]
    arguments: Mapping[str, Arguments] = field(default_factory=dict)
    retries: float = 0.0

    def expect(self) -> dict[str, Any]:
        """The rule as a rule file has it."""
        return {**_with_arguments(self.pattern, self.arguments), **({"retries": "collapse"} if self.retries else {})}


def _with_arguments(element: Any, arguments: Mapping[str, Arguments]) -> Any:
    if isinstance(element, str):
        given = {name: matcher for name, (matcher, _) in arguments.get(element, {}).items()}
        return {"tool": element, "arguments": given} if given else element
    return {
        key: [_with_arguments(one, arguments) for one in inside] if isinstance(inside, list)
        else inside if key in ("min", "max") else _with_arguments(inside, arguments)
        for key, inside in element.items()
    }  # fmt: skip


def _order_id(chance: random.Random) -> str:
    return f"ord_{chance.randrange(1_000, 10_000)}"


HIDDEN = [
    Hidden("sequence", {"sequence": ["a", "b", "c", "d"]}),
    Hidden("any order", {"sequence": ["a", {"any_order": ["b", "c", "d"]}, "e"]}),
    Hidden("optional", {"sequence": ["a", {"optional": "b"}, "c", {"optional": "d"}]}),
    Hidden("optional sequence", {"sequence": ["a", {"optional": {"sequence": ["b", "c"]}}, "d"]}),
    Hidden("repeat", {"sequence": ["a", {"repeat": "b", "min": 1, "max": 3}, "c"]}),
    Hidden("repeated sequence", {"repeat": {"sequence": ["a", "b"]}, "min": 1, "max": 3}),
    Hidden("one of", {"sequence": ["a", {"one_of": ["b", "c", "d"]}, "e"]}),
    Hidden("one of sequences", {"one_of": [{"sequence": ["a", "b"]}, {"sequence": ["c", "d"]}]}),
    Hidden("sequences in any order", {"any_order": [{"sequence": ["a", "b"]}, {"sequence": ["c", "d"]}]}),
    Hidden("a tool twice", {"sequence": ["a", "b", "a", "c"]}),
    Hidden("retries", {"sequence": ["a", "b", "c"]}, retries=0.3),
    Hidden("constant and enum", {"sequence": ["a", "b"]}, {
        "a": {"currency": ("EUR", lambda _: "EUR")},
        "b": {"mode": ({"one_of": ["fast", "night", "slow"]}, lambda c: c.choice(["fast", "night", "slow"]))},
    }),
    Hidden("regex", {"sequence": ["a", "b"]}, {"a": {"order": ({"regex": "^ord_[0-9]{4}$"}, _order_id)}}),
    Hidden("range", {"sequence": ["a", "b"]}, {
        "a": {"count": ({"min": 1, "max": 50}, lambda c: c.randint(1, 50))},
        "b": {"amount": ({"min": 10.0, "max": 90.0}, lambda c: round(c.uniform(10, 90), 2))},
    }),
]  # fmt: skip


class Maker:
    """Makes runs of one hidden rule."""

    def __init__(self, hidden: Hidden, seed: int) -> None:
        self.hidden, self.chance = hidden, random.Random(seed)
        self.rule: CompiledRule = compile_rule(KEY, hidden.expect())

    def runs(self, count: int, broken: float) -> list[list[ToolCall]]:
        """So many runs, with a share of broken ones."""
        return [self.broken() if self.chance.random() < broken else self.good() for _ in range(count)]

    def good(self) -> list[ToolCall]:
        """A run that follows the rule."""
        return self._calls(self._steps(self.hidden.pattern))

    def broken(self) -> list[ToolCall]:
        """A run that was changed in one place, and now breaks the rule."""
        while True:
            calls = self._changed(self.good())
            if not passes(self.rule, calls):
                return calls

    def _steps(self, element: Any) -> list[list[str]]:
        if isinstance(element, str):
            return [[element]]
        kind = next(key for key in element if key not in ("min", "max"))
        inside = element[kind]
        if kind == "sequence":
            return [step for one in inside for step in self._steps(one)]
        if kind == "one_of":
            return self._steps(self.chance.choice(inside))
        if kind == "optional":
            return self._steps(inside) if self.chance.random() < 0.4 else []
        if kind == "repeat":
            return [
                step for _ in range(self.chance.randint(element["min"], element["max"])) for step in self._steps(inside)
            ]
        return self._interleaved([self._steps(one) for one in inside])

    def _interleaved(self, parts: list[list[list[str]]]) -> list[list[str]]:
        if all(len(part) == 1 for part in parts) and self.chance.random() < 0.5:
            return [[tool for part in parts for tool in part[0]]]  # at once
        made: list[list[str]] = []
        while any(parts):
            made.append(self.chance.choice([part for part in parts if part]).pop(0))
        return made

    def _calls(self, steps: Sequence[Sequence[str]]) -> list[ToolCall]:
        calls: list[ToolCall] = []
        at = 0
        for step in steps:
            if len(step) == 1 and self.chance.random() < self.hidden.retries:
                calls.append(ToolCall(step[0], self._arguments(step[0]), status="error", step=at))
                at += 1
            calls += [ToolCall(tool, self._arguments(tool), status="ok", step=at) for tool in step]
            at += 1
        return calls

    def _arguments(self, tool: str) -> dict[str, Any]:
        made = {name: make(self.chance) for name, (_, make) in self.hidden.arguments.get(tool, {}).items()}
        return {**made, "note": " ".join(self.chance.choices(["please", "look", "at", "this", "order"], k=4))}

    def _changed(self, calls: list[ToolCall]) -> list[ToolCall]:
        at = self.chance.randrange(len(calls)) if calls else 0
        kind = self.chance.choice(["leave out", "swap", "again", "another", "extra", "wrong argument"])
        if kind == "extra" or not calls:
            calls.insert(at, ToolCall(f"x{self.chance.randrange(8)}", {}, status="ok"))
        elif kind == "leave out":
            del calls[at]
        elif kind == "again":
            calls.insert(self.chance.randrange(len(calls)), calls[at])
        elif kind == "another":
            calls[at] = replace(calls[at], name=f"x{self.chance.randrange(8)}")
        elif kind == "swap":
            other = self.chance.randrange(len(calls))
            calls[at], calls[other] = calls[other], calls[at]
        else:
            calls[at] = replace(calls[at], arguments=self._wrong(calls[at].arguments or {}))
        return [replace(call, step=step) for step, call in enumerate(calls)]

    def _wrong(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        name = self.chance.choice(list(arguments))
        wrong = [None, "", "wrong", self.chance.randrange(10_000, 1_000_000), f"x-{self.chance.random()}"]
        return {**arguments, name: self.chance.choice(wrong)}


def passes(rule: CompiledRule, calls: Sequence[ToolCall]) -> bool:
    """Whether a run is a pass by the rule."""
    return rule.evaluate(Trajectory(list(calls)))[0].score.label == "pass"
