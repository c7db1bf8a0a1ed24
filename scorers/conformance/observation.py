"""A run as a rule sees it: the name of each call and which of the rule's tools it matches, nothing else.

A native score depends only on the *shape* of the run: its calls as observed, the steps, and the failures if the rule counts
them. Runs of one shape have one score, so scores can be cached by shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scorers.rules.arguments import Choices, Embed, compile_arguments, fixed_cost
from scorers.rules.masks import MaskedChoices
from scorers.rules.matchers import ArgumentPattern, Name
from scorers.rules.model import Tool
from scorers.rules.names import MAX_LENGTH, Names
from scorers.score import Outcome
from scorers.trajectory import ToolCall
from scorers.work import Work

_NOT_CAPTURED = -1
"""In place of the bits of the tools whose arguments a call has."""
_NEW_NAME_COST = 50
_NEGLIGIBLE_COST = 10_000
MAX_CACHED = 1_024
"""Names and observed calls that an observer caches, together."""
MAX_NAME = MAX_LENGTH
"""Characters of a name that is cached. Longer names are matched every time."""


class ObservedCall:
    """A call, with a bit for each tool whose name it has (``named``), that it definitely is, and that it possibly is.

    The latter two differ only if the rule tests arguments, or values in them, that were not captured. ``fits`` are the tools
    of the pattern that the call can match; if it matches none, ``if_unmatched`` is its outcome and ``cost`` (0 or 1) its cost.

    Calls that a rule does not tell apart are one object, for as long as the observer caches it. So it is compared by identity,
    which makes a shape cheap to look up.
    """

    def __init__(
        self,
        name: str,
        named: int,
        definitely: int,
        possibly: int,
        fits: int,
        if_unmatched: Outcome,
        cost: int,
        executed: bool = True,
    ) -> None:
        self.name: Final = name
        self.named: Final = named
        self.definitely: Final = definitely
        self.possibly: Final = possibly
        self.fits: Final = fits
        self.if_unmatched: Final[Outcome] = if_unmatched
        self.cost: Final = cost
        self.executed: Final = executed


_NOT_EXECUTED = ObservedCall("", 0, 0, 0, 0, "unscored", 0, executed=False)
"""Every call that was not executed."""
_IRRELEVANT = ObservedCall("", 0, 0, 0, 0, "unscored", 0)
"""Every call that cannot affect the score, so that runs differing only in such calls have one shape."""


class NameMatch:
    """What a name matches: the call as known by its name, the tools that test arguments too, and the test of these."""

    def __init__(self, by_name: ObservedCall, conditional: int, choices: Choices | None) -> None:
        self.by_name, self.conditional, self.choices = by_name, conditional, choices
        self.masked: MaskedChoices | None = None  # made for the first call that needs it
        self.by_bits: dict[int, ObservedCall] = {}
        """Where arguments are tested, the call by the bits of the tools whose arguments hold, or `_NOT_CAPTURED`.

        Above these bits are as many for the tools of which a masked value leaves it open whether their arguments hold.
        """


class Observer:
    """Matches calls against the tools of one rule. The first ``expected`` of ``tools`` are the pattern's.

    Without a pattern (``expected`` is None) no call is extra. With ``distinguish_names`` no call is irrelevant: calls of one
    name may be an attempt and its retry.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        expected: int | None,
        allow_extra: Sequence[Name],
        forbid: Sequence[Name],
        embed: Embed | None,
        *,
        distinguish_names: bool = False,
    ) -> None:
        self._names = Names([tool.tool for tool in tools])
        self._tools = tools
        self._with_arguments = sum(1 << number for number, tool in enumerate(tools) if tool.arguments is not None)
        self._embed = embed
        self._distinguish_names = distinguish_names
        for tool in tools:
            # Raises for arguments that cannot be compiled.
            compile_arguments(tool.arguments or {}, tool.arguments_mode, embed)
        self._all, self._expected = (1 << len(tools)) - 1, (1 << (expected or 0)) - 1
        self._free = Names(allow_extra if expected is not None else ["*"])
        self.allows_anything = not forbid and (expected is None or "*" in allow_extra)
        """Whether a further call of whatever name would cost nothing."""
        self._forbidden = Names(forbid)
        self._cost_of_name = _NEW_NAME_COST + self._names.cost + self._free.cost + self._forbidden.cost
        self._most_cost = self._cost_of_name + sum([fixed_cost(tool.arguments) for tool in tools])  # for one call
        self._matches: dict[str, NameMatch] = {}
        self._cached = 0

    def observe(self, calls: Sequence[ToolCall], work: Work) -> tuple[ObservedCall, ...]:
        """Returns each call as the rule sees it. Raises WorkLimitError."""
        # Counting what names and arguments cost takes a pass of its own. Where the whole is at most 2 % of the limit
        # it is not worth that.
        if len(calls) * self._most_cost > _NEGLIGIBLE_COST:
            self._spend_on_names(calls, self._cost_of_name, work)
            self._spend_on_arguments(calls, work)
        # The hottest loop of the scorers: every call of every run passes through it. Names are matched once and then looked
        # up; arguments are tested only if the rule tests them for this name.
        matches = self._matches
        observed: list[ObservedCall] = []
        for call in calls:
            match = matches.get(call.name)
            if match is None:
                match = self._match(call.name)
            choices = match.choices
            if not call.executed:
                observed.append(_NOT_EXECUTED)
            elif choices is None:
                observed.append(match.by_name)
            else:
                arguments = call.arguments
                matching = _NOT_CAPTURED if arguments is None else choices.matching(arguments, work)
                if arguments is not None and not (matching and choices.are_literals):
                    matching = self._judged(match, arguments, matching, work)
                known = match.by_bits.get(matching)
                observed.append(self._by_arguments(match, call.name, matching) if known is None else known)
        return tuple(observed)

    def _judged(self, match: NameMatch, arguments: Mapping[str, Any], matching: int, work: Work) -> int:
        """Returns the bits of a call: the tools that match, and above them those of which a mask leaves it open."""
        masked = match.masked
        if masked is None:
            masked = match.masked = MaskedChoices(self._testing(match.conditional), self._embed)
        if not masked.concern(arguments, work):
            return matching
        matching, unknown = masked.matching(arguments, work)
        return matching | unknown << len(self._tools)

    def _spend_on_names(self, calls: Sequence[ToolCall], cost: int, work: Work) -> None:
        names = [call.name for call in calls]
        distinct = set(names)
        longest = max(map(len, distinct))
        # As if nothing were cached: what is spent must not depend on the runs seen before. Long names are not cached.
        matched = len(distinct) if longest <= MAX_NAME else len(names)
        work.spend(matched * cost * (1 + longest // MAX_NAME), "the names of tools")

    def _spend_on_arguments(self, calls: Sequence[ToolCall], work: Work) -> None:
        choices = [self._match(call.name).choices for call in calls if call.executed]
        work.spend(sum([one.cost for one in choices if one is not None]), "arguments")

    def is_forbidden(self, name: str) -> bool:
        """Whether the rule forbids calls of this name."""
        return self._forbidden.matching(name) != 0

    def forbidden(self, calls: Sequence[ToolCall], work: Work) -> list[int]:
        """Returns the calls that ran and that the rule forbids, by index. Raises WorkLimitError."""
        if not calls:
            return []
        self._spend_on_names(calls, self._forbidden.cost, work)
        forbidden = {name for name in {call.name for call in calls} if self.is_forbidden(name)}
        return [at for at, call in enumerate(calls) if call.executed and call.name in forbidden]

    def _by_arguments(self, match: NameMatch, name: str, matching: int) -> ObservedCall:
        by_name, conditional = match.by_name, match.conditional
        holding, unknown = 0, conditional
        if matching != _NOT_CAPTURED:
            holding, unknown = matching & self._all, matching >> len(self._tools)
        definitely, possibly = by_name.definitely | holding, by_name.definitely | holding | unknown
        # A pattern cannot redeem a forbidden call, also where a glob or regex of it has the name.
        fits = 0 if by_name.if_unmatched == "forbidden" else possibly & self._expected
        call = ObservedCall(name, by_name.named, definitely, possibly, fits, by_name.if_unmatched, by_name.cost)
        if self._makes_room_for(name):
            match.by_bits[matching] = call
        return call

    def _match(self, name: str) -> NameMatch:
        known = self._matches.get(name)
        if known is not None:
            return known
        named = self._names.matching(name)
        conditional = named & self._with_arguments
        unconditional = named & ~conditional
        if_unmatched: Outcome = (
            "forbidden" if self.is_forbidden(name) else "unscored" if self._free.matching(name) else "extra"
        )
        fits = 0 if if_unmatched == "forbidden" else unconditional & self._expected
        cost = int(if_unmatched != "unscored")
        by_name = ObservedCall(name, named, unconditional, unconditional, fits, if_unmatched, cost)
        # A name of no concern does not enter the shape: else each new name would be a new shape, and scored again.
        irrelevant = not named and not cost and not self._distinguish_names
        match = NameMatch(_IRRELEVANT if irrelevant else by_name, conditional, self._choices(conditional))
        if self._makes_room_for(name):
            self._matches[name] = match
        return match

    def _choices(self, conditional: int) -> Choices | None:
        return Choices(self._testing(conditional), self._embed) if conditional else None

    def _testing(self, conditional: int) -> list[tuple[int, Mapping[str, ArgumentPattern], str]]:
        testing = [(number, self._tools[number]) for number in bits(conditional)]
        return [(1 << number, tool.arguments or {}, tool.arguments_mode) for number, tool in testing]

    def _makes_room_for(self, name: str) -> bool:
        """Whether something of this name is cached. Names come from agents, so their number and length are bounded."""
        if len(name) > MAX_NAME:
            return False
        if self._cached >= MAX_CACHED:
            self._matches.clear()
            self._cached = 0
        self._cached += 1
        return True


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
