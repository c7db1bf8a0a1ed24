"""What is counted of the runs of one kind: of one route, intent and agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from collector.learning.text_shapes import MAX_TEXT
from collector.learning.values import Values
from collector.learning.variants import Variant, variant_of
from collector.reconstruction.run import Run
from scorers.doubts import is_open
from scorers.trajectory import ToolCall

MAX_GROUPS = 200
"""Kinds of runs that are learnt from; runs of further kinds are counted only."""
MAX_VARIANTS = 500
"""Variants of one kind that are kept; runs of further ones are counted only."""
MAX_CALLS = 200
"""Calls of a run that is learnt from."""
MAX_SAMPLE = 200
"""Runs of one kind that its rule is tried on."""
_MAX_ARGUMENTS = 200  # of a group, over all tools
_MAX_SOURCES = 8
_MIN_COPIED = 4  # characters of a value that can be told from chance
_MAX_COPIED = 200
_MAX_COPIED_NUMBER = 1 << 63

Calls = Sequence[ToolCall]


class Key(NamedTuple):
    """What makes runs comparable. None is a run for which it is unknown."""

    route: str | None
    intent: str | None
    agent: str | None


class ArgumentKey(NamedTuple):
    """An argument of a tool."""

    tool: str
    name: str


class Group:
    """Counts of the runs of one kind, with one example of each variant. Memory is limited, whatever comes."""

    def __init__(self) -> None:
        self.runs = 0
        self.unlike = 0
        """Runs of variants beyond `MAX_VARIANTS`."""
        self.retried = 0
        """Runs in which a failed call is tried again in the next step."""
        self.variants: dict[bool, Counter[Variant]] = {False: Counter(), True: Counter()}
        """With every call, and with a failed call and its retry as one."""
        self.examples: dict[Variant, Calls] = {}
        """The first run of each variant, with every call."""
        self.sample: list[Calls] = []
        """Runs drawn at random of all, each as likely, with as much of their arguments as a rule can look at."""
        self._draw = Random(0)  # noqa: S311 - the same for the same runs, each time
        self.captured: Counter[str] = Counter()
        """Calls of a tool whose arguments were captured."""
        self.arguments: dict[ArgumentKey, Values] = {}
        self.copied: dict[ArgumentKey, Counter[ArgumentKey]] = {}
        """How often the value of an argument was that of another one earlier in the run."""

    def add(self, calls: Calls) -> None:
        """Count one run."""
        self.runs += 1
        self._add_to_sample(calls)
        # Both are counted: only all runs together tell whether retries are a habit, and none is kept to count again.
        variant, collapsed = variant_of(calls, collapse=False), variant_of(calls, collapse=True)
        # Nothing else is counted of a run beyond the limit: memory must not grow with the runs.
        if variant not in self.examples and len(self.examples) >= MAX_VARIANTS:
            self.unlike += 1
            return
        self.examples.setdefault(variant, calls)
        self.retried += variant != collapsed
        self.variants[False][variant] += 1
        self.variants[True][collapsed] += 1
        self._add_arguments(calls)

    def _add_to_sample(self, calls: Calls) -> None:
        at = len(self.sample) if self.runs <= MAX_SAMPLE else self._draw.randrange(self.runs)
        if at < MAX_SAMPLE:
            self.sample[at : at + 1] = [[replace(call, arguments=_looked_at(call.arguments)) for call in calls]]

    def _add_arguments(self, calls: Calls) -> None:
        earlier: dict[str, list[ArgumentKey]] = {}
        for call in calls:
            if call.arguments is None:
                continue
            self.captured[call.name] += 1
            told: list[tuple[str, ArgumentKey]] = []
            for name, value in call.arguments.items():
                key = ArgumentKey(call.name, name)
                if key not in self.arguments and len(self.arguments) >= _MAX_ARGUMENTS:
                    continue
                self.arguments.setdefault(key, Values()).add(value)
                if (text := _copyable(value)) is not None:
                    self._add_sources(key, earlier.get(text, ()))
                    told.append((text, key))
            # After all arguments of the call: what repeats another one of the same call is no copy of an earlier one.
            for text, key in told:
                earlier.setdefault(text, []).append(key)

    def _add_sources(self, key: ArgumentKey, sources: Sequence[ArgumentKey]) -> None:
        copied = self.copied.setdefault(key, Counter())
        for source in dict.fromkeys(sources):
            if source != key and (source in copied or len(copied) < _MAX_SOURCES):
                copied[source] += 1


class Observations:
    """All runs seen so far, by kind, and those that were left out, by the reason."""

    def __init__(self) -> None:
        self.groups: dict[Key, Group] = {}
        self.left_out: Counter[str] = Counter()

    def add(self, run: Run) -> None:
        """Count one run. A run of which calls may be missing teaches nothing."""
        # Rules see the executed calls only.
        calls = [call for call in run.trajectory.calls if call.executed and call.name]
        key = Key(run.route, run.intent, run.agent)
        if is_open(run.trajectory.doubts):
            self.left_out["incomplete"] += 1
        elif len(calls) > MAX_CALLS:
            self.left_out[f"of more than {MAX_CALLS} calls"] += 1
        elif key not in self.groups and len(self.groups) >= MAX_GROUPS:
            self.left_out[f"of more than {MAX_GROUPS} kinds"] += 1
        else:
            self.groups.setdefault(key, Group()).add(calls)

    def tools(self) -> Mapping[Key, set[str]]:
        """Returns the tools called in the runs of each kind."""
        return {
            key: {activity.tool for variant in group.examples for step in variant for activity in step}
            for key, group in self.groups.items()
        }


def _looked_at(arguments: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Returns arguments of bounded size that a rule learnt here takes for these."""
    if arguments is None:
        return None
    # Nothing is learnt of longer texts, nor of what is inside lists and mappings, but that they are there.
    given = list(arguments.items())[:_MAX_ARGUMENTS]
    return {
        name: value[: MAX_TEXT + 1] if isinstance(value, str) else [] if isinstance(value, list | Mapping) else value
        for name, value in given
    }


def _copyable(value: Any) -> str | None:
    """Returns a value that is long enough for its return not to be chance."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < _MAX_COPIED_NUMBER else ""
    return value if isinstance(value, str) and _MIN_COPIED <= len(value) <= _MAX_COPIED else None
