"""A run as a rule sees it: of each call its name and which of the rule's tools it is, nothing else.

All a native score depends on is in the *shape* of the run: these tokens, the steps, and the failures where a rule counts
them. Runs of one shape get one score, which is why shapes can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scorers.arguments import Embed, Test, compile_arguments
from scorers.matchers import Name
from scorers.names import compile_name
from scorers.rules import Tool
from scorers.trajectory import ToolCall

NOT_EXECUTED = -2
NOT_CAPTURED = -1
MAX_NAMES = 4_096
MAX_NAME = 256

Token = str | tuple[str, int]
"""The name, where no arguments are asked of it; else with the bits of the tools whose arguments hold, or one of the above."""


class Observed(NamedTuple):
    """A call: bits for the tools it has the name of (``named``), surely is and possibly is.

    The latter two differ only where arguments are asked for and nobody captured them.
    """

    name: str
    named: int
    surely: int
    possibly: int
    free: bool
    forbidden: bool
    executed: bool = True

    @property
    def unobserved(self) -> bool:
        """Whether arguments were asked for and not captured."""
        return self.surely != self.possibly


class _Watch(NamedTuple):
    """What a name calls for: what is known from the name alone, and the tests its arguments have to take."""

    seen: Observed
    tests: tuple[tuple[int, Test], ...]


class Observer:
    """Reads calls for one rule. ``tools`` are numbered by their place; bit ``1 << n`` is tool n."""

    def __init__(
        self, tools: Sequence[Tool], allow_extra: Sequence[Name], forbid: Sequence[Name], embed: Embed | None
    ) -> None:
        self._names = [compile_name(tool.tool) for tool in tools]
        self._arguments = [
            None if tool.arguments is None else compile_arguments(tool.arguments, tool.arguments_mode, embed)
            for tool in tools
        ]
        self._free = [compile_name(name) for name in allow_extra]
        self._forbidden = [compile_name(name) for name in forbid]
        self._watches: dict[str, _Watch] = {}

    def tokens(self, calls: Sequence[ToolCall]) -> tuple[Token, ...]:
        """A token for each call."""
        watches, found = self._watches, []
        for call in calls:
            name = call.name
            watch = watches.get(name) or self._watch(name)
            if not call.executed:
                found.append((name, NOT_EXECUTED))
            elif not watch.tests:
                found.append(name)  # type: ignore[arg-type]
            elif (arguments := call.arguments) is None:
                found.append((name, NOT_CAPTURED))
            else:
                found.append((name, _bits(watch.tests, arguments)))
        return tuple(found)

    def observed(self, token: Token) -> Observed:
        """What a token stands for."""
        name, bits = (token, 0) if isinstance(token, str) else token
        seen, tests = self._watch(name)
        if bits == NOT_EXECUTED:
            return seen._replace(named=0, surely=0, possibly=0, forbidden=False, executed=False)
        if bits == NOT_CAPTURED:
            return seen._replace(possibly=seen.surely | sum(bit for bit, _ in tests))
        return seen._replace(surely=seen.surely | bits, possibly=seen.surely | bits)

    def is_forbidden(self, name: str) -> bool:
        """Whether the rule forbids tools of this name."""
        return any(test(name) for test in self._forbidden)

    def _watch(self, name: str) -> _Watch:
        known = self._watches.get(name)
        if known is not None:
            return known
        named = sum(1 << number for number, is_name in enumerate(self._names) if is_name(name))
        tests = tuple(
            (1 << number, test) for number, test in enumerate(self._arguments) if test and named >> number & 1
        )
        plain = named & ~sum(bit for bit, _ in tests)
        seen = Observed(name, named, plain, plain, any(test(name) for test in self._free), self.is_forbidden(name))
        watch = _Watch(seen, tests)
        # Names come from agents: what is remembered of them is bounded in number and in length.
        if len(name) <= MAX_NAME:
            if len(self._watches) >= MAX_NAMES:
                self._watches.clear()
            self._watches[name] = watch
        return watch


def _bits(tests: tuple[tuple[int, Test], ...], arguments: Mapping[str, Any]) -> int:
    bits = 0
    for bit, test in tests:
        if test(arguments):
            bits |= bit
    return bits
