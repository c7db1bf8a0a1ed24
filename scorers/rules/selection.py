"""Selects the rule that applies to a run. The first match wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from scorers.quoting import shorten
from scorers.rules.model import Match, Rule
from scorers.rules.names import compile_name, format_name, is_exact

MATCH_KEYS = ("route", "intent", "agent", "service", "tenant")
MAX_ATTRIBUTE = 20_000
"""Characters of an attribute that rules match. Further ones are not looked at: every rule may look at every run."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The properties of a run that rules match; None if unknown. ``attributes`` are the run's and its resource's."""

    route: str | None = None
    intent: str | None = None
    agent: str | None = None
    service: str | None = None
    tenant: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


class HasRule(Protocol):
    """Anything that has a rule."""

    @property
    def rule(self) -> Rule:
        """The rule as written."""


R = TypeVar("R", bound=HasRule)


class RuleIndex(Generic[R]):
    """The rules of one scope, in order. A lookup tests only the rules whose first exact key agrees."""

    def __init__(self, rules: Sequence[R]) -> None:
        self._rules = rules
        self._tests = [_compile_match(rule.rule.match) for rule in rules]
        self._by_key: dict[tuple[str, str] | None, list[int]] = {}
        for position, rule in enumerate(rules):
            self._by_key.setdefault(_bucket(rule.rule.match), []).append(position)

    def select(self, context: RuleContext) -> R | None:
        """Returns the first rule that matches; None if none does."""
        if not self._rules:
            return None
        # Rules without an exact key, and those whose exact key the run has; the others cannot match. A thousand rules for
        # a thousand routes cost as little as a few.
        candidates = list(self._by_key.get(None, ()))
        for key in MATCH_KEYS:
            value = getattr(context, key)
            if value is not None:
                candidates += self._by_key.get((key, value), ())
        candidates.sort()
        for at in candidates:
            if self._tests[at](context):
                return self._rules[at]
        return None


def select(rules: Sequence[Rule], context: RuleContext) -> Rule | None:
    """Returns the first of these rules that matches. For many lookups use a `RuleIndex`."""
    return next((rule for rule in rules if _compile_match(rule.match)(context)), None)


def mismatches(match: Match, context: RuleContext) -> list[str]:
    """Returns for each key that does not match what the run has and what the rule wants; nothing if the rule matches."""
    wanted = [(key, getattr(match, key), getattr(context, key)) for key in MATCH_KEYS]
    wanted += [(f"attribute {key}", name, context.attributes.get(key)) for key, name in match.attributes.items()]
    found = []
    for key, name, value in wanted:
        if name is None:
            continue
        if value is None:
            found.append(f"{key} is unknown, must be {format_name(name)}")
        elif not compile_name(name)(text := _as_text(value)[:MAX_ATTRIBUTE]):
            found.append(f"{key} is {shorten(text)}, must be {format_name(name)}")
    return found


def _bucket(match: Match) -> tuple[str, str] | None:
    for key in MATCH_KEYS:
        wanted = getattr(match, key)
        if wanted is not None and is_exact(wanted):
            return key, wanted
    return None


def _compile_match(match: Match) -> Callable[[RuleContext], bool]:
    keys = [(key, compile_name(wanted)) for key in MATCH_KEYS if (wanted := getattr(match, key)) is not None]
    attributes = [(key, compile_name(wanted)) for key, wanted in match.attributes.items()]

    def matches(context: RuleContext) -> bool:
        for key, test in keys:
            value = getattr(context, key)
            if value is None or not test(value):
                return False
        for key, test in attributes:
            value = context.attributes.get(key)
            if value is None or not test(_as_text(value)[:MAX_ATTRIBUTE]):
                return False
        return True

    return matches


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
