"""Rules that are valid and hardly do what they say: never used, never kept, or about what no call of their tests has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from scorers.conformance.expectation import compile_expectation
from scorers.quoting import shorten
from scorers.rule_set import RuleSet
from scorers.rule_tests import build_trajectory
from scorers.rules.matchers import Ignore, Name, Present
from scorers.rules.model import (
    CONSTRAINTS_OF_TWO,
    AnyOrder,
    Element,
    Match,
    OneOf,
    Optional,
    Repeat,
    Rule,
    RuleTest,
    Sequence,
    Times,
    Tool,
)
from scorers.rules.names import beginning_of, compile_name, format_name, is_exact, part_of
from scorers.rules.selection import MATCH_KEYS, RuleContext
from scorers.wording import is_misspelt, quantity


def hiding(rule: Rule, rules: RuleSet) -> Rule | None:
    """Returns a rule that is selected for every run which this one matches; None if none is known."""
    names = _names(rule.match)
    # What each text that the rule matches begins with or contains: a rule that matches all of these matches that, too.
    texts = {
        key: name if isinstance(name, str) and is_exact(name) else beginning_of(name) + part_of(name)
        for key, name in names.items()
    }
    known = {key: texts.get((False, key)) for key in MATCH_KEYS}
    context = RuleContext(
        **known, attributes={key: text for (of_attribute, key), text in texts.items() if of_attribute}
    )
    selected = rules.select(context, rule.scope, shadow=rule.shadow)
    if selected is None or selected.rule is rule or not _covers(selected.rule.match, names):
        return None
    return selected.rule


_Key = tuple[bool, str]  # whether it is that of an attribute, and its name


def _names(match: Match) -> Mapping[_Key, Name]:
    named = {(False, key): name for key in MATCH_KEYS if (name := getattr(match, key)) is not None}
    return named | {(True, key): name for key, name in match.attributes.items()}


def _covers(match: Match, names: Mapping[_Key, Name]) -> bool:
    """Whether all that these names match has what ``match`` asks for."""
    return all(key in names and _is_wider(name, names[key]) for key, name in _names(match).items())


def _is_wider(name: Name, other: Name) -> bool:
    if name == other:
        return True
    if isinstance(other, str) and is_exact(other):
        return compile_name(name)(other)
    test = compile_name(name)
    return (_holds_of_longer(name) and test(beginning_of(other))) or (_holds_of_parts(name) and test(part_of(other)))


def _holds_of_longer(name: Name) -> bool:
    """Whether every text that begins with one that the name matches is matched, too."""
    return name.endswith("*") if isinstance(name, str) else _END.search(name.regex) is None


def _holds_of_parts(name: Name) -> bool:
    """Whether every text that contains one that the name matches is matched, too."""
    is_anchored = not name.startswith("*") if isinstance(name, str) else _BEGINNING.search(name.regex) is not None
    return not is_anchored and _holds_of_longer(name)


_BEGINNING: Final = re.compile(r"\^|\\A")
_END: Final = re.compile(r"\$|\\[zZbB]")  # also the edge of a word, which depends on what follows


def never_kept(rule: Rule) -> Iterator[str]:
    """Yield why no run has all that the rule asks for."""
    expect = rule.expect
    element = compile_expectation(expect).element
    least, required = _required(element) if element is not None else (0, frozenset[str]())
    if expect is not None and expect.max_calls is not None and expect.max_calls < least:
        yield f"expects {quantity(least, 'call')} at least, and allows {expect.max_calls} (max_calls)"
    yield from _contradictions(rule, required)


def _contradictions(rule: Rule, required: Iterable[str]) -> Iterator[str]:
    """Yield which tools a run must have, by the pattern (``required``) or a constraint, and must not have, by another."""
    absences = [constraint.absence for constraint in rule.constraints if constraint.absence is not None]
    absent = [compile_name(tool.tool) for tool in absences if tool.arguments is None]
    for is_absent in absent:
        yield from (f"expects {name}, and asks for its absence" for name in sorted(required) if is_absent(name))
    forbidden = [compile_name(name) for name in rule.expect.forbid] if rule.expect is not None else []
    for constraint in rule.constraints:
        times = constraint.existence or constraint.exactly
        if times is not None and times.times:
            if _is_among(times, forbidden):
                yield f"asks for the existence of {times.tool}, and forbids it"
            if _is_among(times, absent):
                yield f"asks for the existence of {times.tool}, and for its absence"


def _required(element: Element) -> tuple[int, frozenset[str]]:
    """Returns how many calls there are at least, and the names that each run must have."""
    match element:
        case Tool(tool=name):
            return 1, frozenset([name] if isinstance(name, str) and is_exact(name) else [])
        case Sequence(sequence=parts) | AnyOrder(any_order=parts):
            each = [_required(part) for part in parts]
            return sum(least for least, _ in each), frozenset[str]().union(*(names for _, names in each))
        case OneOf(one_of=parts):
            each = [_required(part) for part in parts]
            return min(least for least, _ in each), frozenset.intersection(*(names for _, names in each))
        case Repeat(repeat=part, min=times):
            least, names = _required(part)
            return times * least, names if times else frozenset()
        case Optional():
            return 0, frozenset()


def _is_among(tool: Times, forbidden: Iterable[Callable[[str], bool]]) -> bool:
    return isinstance(tool.tool, str) and is_exact(tool.tool) and any(test(tool.tool) for test in forbidden)


def unseen(rule: Rule) -> Iterator[str]:
    """Yield names in which there is a character that nobody sees, such as one that came along from a page."""
    wanted = [*_names(rule.match).values(), *(tool.tool for tool in _tools(rule)), *_listed(rule)]
    for text in dict.fromkeys(name if isinstance(name, str) else name.regex for name in wanted):
        hidden = next((character for character in text if not character.isprintable()), None)
        if hidden is not None:
            code = f"U+{ord(hidden):04X}"
            yield f"{shorten(text)} has a character that nobody sees: {unicodedata.name(hidden, code)} ({code})"


def _listed(rule: Rule) -> Iterable[Name]:
    return (*rule.expect.allow_extra, *rule.expect.forbid) if rule.expect is not None else ()


def slips(rule: Rule, tests: Iterable[RuleTest]) -> Iterator[str]:
    """Yield names of tools and arguments that no call in the tests of the rule has, where calls have nearly the same."""
    calls = [call for test in tests for call in build_trajectory(test.calls).calls]
    tools = list(_tools(rule))
    names = [name for name in (*(tool.tool for tool in tools), *_listed(rule)) if isinstance(name, str)]
    for name, near in _misspelt(names, [call.name for call in calls]):
        yield f"no call in its tests is {name}; did you mean {near}?"
    for tool in tools:
        is_called = compile_name(tool.tool)
        keys = [key for call in calls if is_called(call.name) for key in call.arguments or ()]
        for key, near in _misspelt(filter(is_exact, _asked_for(tool)), keys):
            yield f"no call of {format_name(tool.tool)} in its tests has the argument {key}; did you mean {near}?"


def _asked_for(tool: Tool) -> Iterator[str]:
    """Yield the arguments that calls are to have: that one is not there, or may be, is kept where it never is."""
    for key, pattern in (tool.arguments or {}).items():
        if not (isinstance(pattern, Ignore) or (isinstance(pattern, Present) and not pattern.present)):
            yield key


def _misspelt(asked: Iterable[str], found: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what is asked for and not found, each with what is nearly the same and not asked for."""
    found = dict.fromkeys(found)
    asked = list(dict.fromkeys(asked))
    tests = [compile_name(name) for name in asked]
    unasked = [other for other in found if not any(test(other) for test in tests)]
    for name in filter(is_exact, asked):
        near = next((other for other in unasked if is_misspelt(name, other)), None)
        if name not in found and near is not None:
            yield name, near


def _tools(rule: Rule) -> Iterator[Tool]:
    element = compile_expectation(rule.expect).element
    if element is not None:
        yield from _tools_of(element)
    for constraint in rule.constraints:
        of_it = getattr(constraint, constraint.template)
        yield from of_it if constraint.template in CONSTRAINTS_OF_TWO else (of_it,)


def _tools_of(element: Element) -> Iterator[Tool]:
    match element:
        case Tool():
            yield element
        case Sequence(sequence=parts) | AnyOrder(any_order=parts) | OneOf(one_of=parts):
            for part in parts:
                yield from _tools_of(part)
        case Optional(optional=part) | Repeat(repeat=part):
            yield from _tools_of(part)
