"""Says which arguments of a call are not what a rule expects of its tool, and what each should have been."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scorers.quoting import json_line, shorten
from scorers.rules.arguments import MISSING, Embed
from scorers.rules.masks import Judge, judge_argument
from scorers.rules.matchers import (
    Approx,
    ArgumentPattern,
    Exact,
    Fuzzy,
    Ignore,
    OneOfValues,
    Plugged,
    Present,
    Range,
    Regex,
    Schema,
    Semantic,
    Subset,
)
from scorers.rules.model import Tool
from scorers.wording import as_given
from scorers.work import Work

MAX_VALUE = 60
"""Characters of a value that are shown."""


class Mismatch(NamedTuple):
    """An argument that is not as expected: its path such as ``order_id`` or ``filter.city``, and what it fails."""

    path: str
    value: Any
    """The value; `MISSING` if the call has no such argument."""
    failure: str
    """``does not match ^ord_``. It quotes the rule, never the run."""

    def sentence(self, *, values: bool) -> str:
        """Returns ``order_id: "7" does not match ^ord_``, without the value unless ``values``."""
        if self.value is MISSING:
            return f"{self.path} is missing: {self.failure}"
        return f"{self.path}: {show_value(self.value)} {self.failure}" if values else f"{self.path} {self.failure}"


FindMismatches = Callable[[Mapping[str, Any], Work], list[Mismatch]]


def show_value(value: Any) -> str:
    """Returns a value as JSON on one line of printable characters, cut to `MAX_VALUE`."""
    if isinstance(value, str):
        # Cut before it is written as JSON: it may be megabytes, of which a line shows 60 characters.
        value = value[: MAX_VALUE + 1]
    return shorten(json_line(value), MAX_VALUE)


def compile_mismatches(tool: Tool, embed: Embed | None = None) -> FindMismatches:
    """Returns a function from a call's arguments to those that differ. It may raise WorkLimitError."""
    judges = [(key, pattern, judge_argument(pattern, embed)) for key, pattern in (tool.arguments or {}).items()]
    # Compiled for the keys inside, so that a mismatch names `filter.city` and not the whole of `filter`.
    inner = {
        key: compile_mismatches(_of_subset(pattern), embed) for key, pattern, _ in judges if type(pattern) is Subset
    }
    only = frozenset(tool.arguments or {}) if tool.arguments_mode == "exact" and tool.arguments is not None else None

    def find(arguments: Mapping[str, Any], work: Work) -> list[Mismatch]:
        found = list(_failing(judges, inner, arguments, work))
        if only is not None:
            found += [
                Mismatch(shorten(key), arguments[key], "is not an argument of the rule")
                for key in arguments
                if key not in only
            ]
        return found

    return find


def _failing(
    judges: Sequence[tuple[str, ArgumentPattern, Judge]],
    inner: Mapping[str, FindMismatches],
    arguments: Mapping[str, Any],
    work: Work,
) -> Iterator[Mismatch]:
    for key, pattern, judge in judges:
        value = arguments.get(key, MISSING)
        if judge(value, work) is not False:
            continue
        if key in inner and isinstance(value, Mapping):
            for below in inner[key](value, work):
                yield below._replace(path=f"{key}.{below.path}")
        else:
            yield Mismatch(key, value, _requirement(pattern) if value is MISSING else _failure(pattern))


def _of_subset(pattern: Any) -> Tool:
    return Tool(tool="a", arguments=pattern.subset)


def _failure(pattern: ArgumentPattern) -> str:
    """What a value that does not match the pattern fails."""
    match pattern:
        case Regex(regex=regex):
            return f"does not match {regex}"
        case Present():
            return "must not be given"
        case Schema():
            return "does not satisfy the JSON Schema of the rule"
        case Semantic(semantic=text, threshold=threshold):
            return f"does not mean {show_value(text)} (similarity under {as_given(threshold)})"
        case Fuzzy(fuzzy=text, threshold=threshold):
            return f"is not similar to {show_value(text)} (under {as_given(threshold)})"
        case Subset():
            return "is not an object"
        case Plugged(name=name):
            return f"is not accepted by the matcher {name}"
    return f"is not {_wanted(pattern)}"


def _requirement(pattern: ArgumentPattern) -> str:
    """What an argument that is not there would have to be."""
    match pattern:
        case Regex(regex=regex):
            return f"must match {regex}"
        case Present() | Ignore():
            return "must be given"
        case Schema():
            return "must satisfy the JSON Schema of the rule"
        case Semantic(semantic=text):
            return f"must mean {show_value(text)}"
        case Fuzzy(fuzzy=text):
            return f"must be similar to {show_value(text)}"
        case Subset():
            return "must be an object"
        case Plugged(name=name):
            return f"must be accepted by the matcher {name}"
    return f"must be {_wanted(pattern)}"


def _wanted(pattern: Any) -> str:
    match pattern:
        case Range(min=None, max=float() as high):
            return f"a number up to {as_given(high)}"
        case Range(min=float() as low, max=None):
            return f"a number from {as_given(low)}"
        case Range(min=float() as low, max=float() as high):
            return f"a number from {as_given(low)} to {as_given(high)}"
        case Approx(approx=number, tolerance=tolerance):
            return f"{as_given(number)} within {as_given(tolerance)}"
        case OneOfValues(one_of=choices):
            shown = [
                show_value(one) if type(one) in (str, int, float, bool, type(None)) else "..." for one in choices[:5]
            ]
            return f"one of {', '.join(shown)}{', ...' if len(choices) > 5 else ''}"
        case Exact(exact=value):
            return show_value(value)
    return show_value(pattern)
