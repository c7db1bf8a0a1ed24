"""Selects the rule that applies to a run. The first match wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from scorers.quoting import shorten
from scorers.rules.matchers import Name
from scorers.rules.model import Match, Rule
from scorers.rules.names import MAX_LENGTH, beginning_of, compile_name, format_name, is_exact, part_of

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
MATCH_KEYS = ("route", "intent", "agent", "service", "tenant")
MAX_ATTRIBUTE = 20_000
"""Characters of an attribute that rules match. Further ones are not looked at: every rule may look at every run."""

_MAX_PART: Final = 8  # characters: each length that is looked up takes a look at every place of a text
_FEW_PARTS: Final = 32
MAX_SELECTED = 1_024
"""Combinations of route, intent, agent, service and tenant of which it is remembered which rule they select."""
MAX_TRIED = 30
"""Rules of which it is told, for each run that none of them matches, why they do not."""


class RuleContext:
    """The properties of a run that rules match; None if unknown. ``attributes`` are the run's and its resource's."""

    def __init__(
        self,
        route: str | None = None,
        intent: str | None = None,
        agent: str | None = None,
        service: str | None = None,
        tenant: str | None = None,
        attributes: Mapping[str, Any] = _NONE,
    ) -> None:
        self.route, self.intent, self.agent, self.service, self.tenant = route, intent, agent, service, tenant
        self.attributes = attributes


class Selectable(Protocol):
    """Anything that has a rule's match, compiled."""

    @property
    def match(self) -> CompiledMatch:
        """Which runs it applies to."""


R = TypeVar("R", bound=Selectable)
_Key = tuple[bool, str]  # whether it is that of an attribute, and its name
_Values = tuple[str | None, str | None, str | None, str | None, str | None]  # of the keys of a run


class _Place(NamedTuple):
    """What a rule asks of one key of a run: its value, or what that begins with or contains."""

    key: _Key
    text: str
    where: Literal["whole", "beginning", "part"]

    @property
    def cost(self) -> int:
        """How many lookups find it, relative to the others."""
        return _WHERE.index(self.where)


_WHERE: Final = ("whole", "beginning", "part")


class CompiledMatch:
    """The ``match`` of a rule: a predicate over runs, and where a `RuleIndex` may keep it."""

    def __init__(self, match: Match) -> None:
        wanted = {key: name for key in MATCH_KEYS if (name := getattr(match, key)) is not None}
        self._keys = [(key, compile_name(name)) for key, name in wanted.items()]
        self._attributes = [(key, compile_name(name)) for key, name in match.attributes.items()]
        self.reads_attributes = bool(self._attributes)
        of_keys = [_places((False, key), name) for key, name in wanted.items()]
        of_attributes = [_places((True, key), name) for key, name in match.attributes.items()]
        # Only of a name without a literal character, or with alternatives, nothing is known that could be looked up.
        self.places = [place for places in (*of_keys, *of_attributes) for place in places]

    def __call__(self, context: RuleContext) -> bool:
        """Whether the run has all that the rule asks for."""
        for key, test in self._keys:
            value = getattr(context, key)
            if value is None or not test(value):
                return False
        for key, test in self._attributes:
            value = context.attributes.get(key)
            # Cut before it is matched: an attribute may be megabytes, and each rule may look at it.
            if value is None or not test(as_text(value)[:MAX_ATTRIBUTE]):
                return False
        return True

    def differing(self, context: RuleContext) -> list[str]:
        """Returns the keys in which the run is not what the rule asks for; none if it matches."""
        asked = [(key, getattr(context, key), test) for key, test in self._keys]
        asked += [(attribute_key(key), context.attributes.get(key), test) for key, test in self._attributes]
        return [key for key, value, test in asked if value is None or not test(as_text(value)[:MAX_ATTRIBUTE])]


class RuleIndex(Generic[R]):
    """The rules of one scope, in order. A lookup tests only those that may match by the rarest thing they ask for.

    That is a value of a key, or what a glob or regex says that one begins with or contains. So ten thousand rules for as many
    routes, agents or values of an attribute cost as little as a few, also where all of them name the same route.
    """

    def __init__(self, rules: Sequence[R]) -> None:
        self._rules = rules
        self._always: list[int] = []
        self._by_key: dict[_Key, _Places] = {}
        self._reads_attributes = any(rule.match.reads_attributes for rule in rules)
        self._selected: dict[_Values, R | None] = {}
        uses = Counter(place for rule in rules for place in rule.match.places)
        for position, rule in enumerate(rules):
            if rule.match.places:
                # By one place only: that is enough to find the rule, and `match` tests all it asks for.
                rarest = min(rule.match.places, key=lambda place: (uses[place], place.cost))
                self._by_key.setdefault(rarest.key, _Places()).add(rarest, position)
            else:
                self._always.append(position)

    def select(self, context: RuleContext, unknown: frozenset[str] = frozenset()) -> R | None:
        """Returns the first rule that matches; None if none does. What of the keys is ``unknown`` may be anything.

        That of an attribute is its `attribute_key`.
        """
        if not self._rules:
            return None
        if self._reads_attributes or unknown:
            return self._select(context, unknown)
        # Runs repeat themselves: few ask for anything that none before them had.
        key = (context.route, context.intent, context.agent, context.service, context.tenant)
        if key in self._selected:
            return self._selected[key]
        found = self._select(context, unknown)
        if sum([len(text) for text in key if text is not None]) <= MAX_LENGTH:
            if len(self._selected) >= MAX_SELECTED:
                self._selected.clear()
            self._selected[key] = found
        return found

    def _select(self, context: RuleContext, unknown: frozenset[str]) -> R | None:
        for at in self.candidates(context, unknown):
            match = self._rules[at].match
            if unknown.issuperset(match.differing(context)) if unknown else match(context):
                return self._rules[at]
        return None

    def closest(self, context: RuleContext) -> tuple[R, list[str]] | None:
        """Returns the rule of the first `MAX_TRIED` that misses the run by the fewest keys, and these; None without rules."""
        tried = [(rule, rule.match.differing(context)) for rule in self._rules[:MAX_TRIED]]
        return min(tried, key=lambda one: len(one[1]), default=None)

    def candidates(self, context: RuleContext, unknown: frozenset[str] = frozenset()) -> list[int]:
        """Returns the positions of the rules that are tested, in order."""
        found = list(self._always)
        for key, places in self._keys_of(context, unknown):
            of_attribute, name = key
            value = context.attributes.get(name) if of_attribute else getattr(context, name)
            if unknown and (attribute_key(name) if of_attribute else name) in unknown:
                found += places.positions
            elif value is not None:
                places.find(as_text(value)[:MAX_ATTRIBUTE], found)
        found.sort()
        return found

    def _keys_of(self, context: RuleContext, unknown: frozenset[str]) -> Iterable[tuple[_Key, _Places]]:
        """Returns the keys that rules look at, or those of the run among them if it has fewer."""
        # Whichever is fewer: rules may look at thousands of attributes, and a sender may send as many.
        if unknown or len(self._by_key) <= len(MATCH_KEYS) + len(context.attributes):
            return self._by_key.items()
        keys = [*((False, name) for name in MATCH_KEYS), *((True, name) for name in context.attributes)]
        return [(key, self._by_key[key]) for key in keys if key in self._by_key]


class _Places:
    """Rules by what one key must be, begin with or contain."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        """Of all rules there are."""
        self._whole: dict[str, list[int]] = {}
        self._beginnings: dict[str, list[int]] = {}
        self._parts: dict[str, list[int]] = {}
        self._lengths: set[int] = set()
        self._part_lengths: set[int] = set()

    def add(self, place: _Place, position: int) -> None:
        tables = {"whole": self._whole, "beginning": self._beginnings, "part": self._parts}
        tables[place.where].setdefault(place.text, []).append(position)
        self.positions.append(position)
        if place.where != "whole":
            (self._lengths if place.where == "beginning" else self._part_lengths).add(len(place.text))

    def find(self, text: str, found: list[int]) -> None:
        """Add the positions of the rules that this text may be of."""
        found += self._whole.get(text, ())
        for length in self._lengths:
            if length <= len(text):
                found += self._beginnings.get(text[:length], ())
        for part in self._parts_in(text):
            found += self._parts[part]

    def _parts_in(self, text: str) -> Collection[str]:
        if len(self._parts) <= _FEW_PARTS:
            return [part for part in self._parts if part in text]
        # Of many parts no search: a sender may write a text in which each takes as long as the text times the part.
        found: set[str] = set()
        for size in self._part_lengths:
            for at in range(len(text) - size + 1):
                part = text[at : at + size]
                if part in self._parts:
                    found.add(part)
        return found


def attribute_key(name: str) -> str:
    """Returns the key of a run that an attribute is, as people are told it."""
    return f"attribute {name}"


def select(rules: Sequence[Rule], context: RuleContext) -> Rule | None:
    """Returns the first of these rules that matches. For many lookups use a `RuleIndex`."""
    return next((rule for rule in rules if CompiledMatch(rule.match)(context)), None)


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
        elif not compile_name(name)(text := as_text(value)[:MAX_ATTRIBUTE]):
            found.append(f"{key} is {shorten(text)}, must be {format_name(name)}")
    return found


def _places(key: _Key, name: Name) -> list[_Place]:
    if isinstance(name, str) and is_exact(name):
        return [_Place(key, name[:MAX_LENGTH], "whole")]
    beginning, part = beginning_of(name), part_of(name)
    # Names that differ in a number at one of their ends have the rest in common.
    places = [
        _Place(key, beginning, "beginning"),
        *(_Place(key, text, "part") for text in (part[:_MAX_PART], part[-_MAX_PART:])),
    ]
    return [place for place in places if place.text]


def as_text(value: Any) -> str:
    """Returns the value of an attribute as names are matched against it."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
