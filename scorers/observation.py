"""A run as a rule sees it: of each call its name and which of the rule's tools it is, nothing else.

All a native score depends on is in the *shape* of the run: a token for each call, the steps, and the failures where a
rule counts them. Runs of one shape have one score, so it can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scorers.arguments import Embed, Test, compile_arguments
from scorers.matchers import Name
from scorers.names import compile_name
from scorers.rules import Tool
from scorers.score import Outcome
from scorers.trajectory import ToolCall

NOT_EXECUTED = -2
NOT_CAPTURED = -1
MAX_KNOWN = 4_096
MAX_NAME = 256

Token = str | tuple[str, int]
"""The name, where no arguments are asked of it; else with a bit for each tool whose arguments hold, or one of the above."""


class Observed(NamedTuple):
    """A call, with a bit for each tool: those it has the name of (``named``), surely is, possibly is.

    The latter two differ only where arguments are asked for and nobody captured them. ``fits`` are the tools of the
    pattern it can stand for; if it stands for none, ``otherwise`` is its outcome and ``cost`` (0 or 1) what it costs.
    """

    name: str
    named: int
    surely: int
    possibly: int
    fits: int
    otherwise: Outcome
    cost: int
    executed: bool = True


class _Watch(NamedTuple):
    """What a name calls for: what is known from the name alone, and the tests its arguments have to take."""

    seen: Observed
    tests: tuple[tuple[int, Test], ...]


class Observer:
    """Reads calls for one rule. ``tools`` are numbered by their place, the first ``expected`` being the pattern's.

    Without a pattern (``expected`` is None) nothing is extra.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        expected: int | None,
        allow_extra: Sequence[Name],
        forbid: Sequence[Name],
        embed: Embed | None,
    ) -> None:
        self._names = [compile_name(tool.tool) for tool in tools]
        self._arguments = [
            None if tool.arguments is None else compile_arguments(tool.arguments, tool.arguments_mode, embed)
            for tool in tools
        ]
        self._expected = (1 << (expected or 0)) - 1
        self._free = [compile_name(name) for name in (allow_extra if expected is not None else ["*"])]
        self._forbidden = [compile_name(name) for name in forbid]
        self._watches: dict[str, _Watch] = {}
        self._observed: dict[Token, Observed] = {}

    def tokens(self, calls: Sequence[ToolCall]) -> tuple[Token, ...]:
        """A token for each call."""
        # The hottest loop there is: every call of every run comes through it. Names are resolved once and then looked
        # up; arguments are tested only where this rule asks for them under this name.
        watches, found = self._watches, []
        token: Token
        for call in calls:
            token = call.name
            watch = watches.get(token) or self._watch(token)
            if not call.executed:
                token = (token, NOT_EXECUTED)
            elif watch.tests:
                arguments = call.arguments
                token = (token, NOT_CAPTURED if arguments is None else _bits(watch.tests, arguments))
            found.append(token)
        return tuple(found)

    def observed(self, tokens: Sequence[Token]) -> list[Observed]:
        """What the tokens stand for."""
        known = self._observed
        return [known.get(token) or self._observe(token) for token in tokens]

    def is_forbidden(self, name: str) -> bool:
        """Whether the rule forbids tools of this name."""
        return any(test(name) for test in self._forbidden)

    def _observe(self, token: Token) -> Observed:
        name, bits = (token, 0) if isinstance(token, str) else token
        seen, tests = self._watch(name)
        if bits == NOT_EXECUTED:
            seen = Observed(name, 0, 0, 0, 0, "unscored", 0, executed=False)
        elif tests:
            surely = seen.surely | (0 if bits == NOT_CAPTURED else bits)
            possibly = seen.surely | (sum(bit for bit, _ in tests) if bits == NOT_CAPTURED else bits)
            fits = 0 if seen.otherwise == "forbidden" else possibly & self._expected
            seen = seen._replace(surely=surely, possibly=possibly, fits=fits)
        self._remember(self._observed, name, token, seen)
        return seen

    def _watch(self, name: str) -> _Watch:
        known = self._watches.get(name)
        if known is not None:
            return known
        named = sum(1 << number for number, is_name in enumerate(self._names) if is_name(name))
        tests = tuple(
            (1 << number, test) for number, test in enumerate(self._arguments) if test and named >> number & 1
        )
        plain = named & ~sum(bit for bit, _ in tests)
        otherwise: Outcome = (
            "forbidden"
            if self.is_forbidden(name)
            else "unscored"
            if any(test(name) for test in self._free)
            else "extra"
        )
        fits = 0 if otherwise == "forbidden" else plain & self._expected
        seen = Observed(name, named, plain, plain, fits, otherwise, int(otherwise != "unscored"))
        watch = _Watch(seen, tests)
        self._remember(self._watches, name, name, watch)
        return watch

    def _remember(self, known: dict[Any, Any], name: str, key: Token, value: Any) -> None:
        """Names come from agents: what is remembered of them is bounded in number and in length."""
        if len(name) <= MAX_NAME:
            if len(known) >= MAX_KNOWN:
                known.clear()
            known[key] = value


def _bits(tests: tuple[tuple[int, Test], ...], arguments: Mapping[str, Any]) -> int:
    bits = 0
    for bit, test in tests:
        if test(arguments):
            bits |= bit
    return bits
