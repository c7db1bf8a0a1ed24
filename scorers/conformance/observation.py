"""A run as a rule sees it: of each call its name and which of the rule's tools it is, nothing else.

All a native score depends on is in the *shape* of the run: a token for each call, the steps, and the failures where a
rule counts them. Runs of one shape have one score, so it can be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scorers.rules.arguments import Embed, compile_arguments, compile_choices
from scorers.rules.matchers import Name
from scorers.rules.model import Tool
from scorers.rules.names import compile_name
from scorers.score import Outcome
from scorers.trajectory import ToolCall

NOT_CAPTURED = -1
MAX_KNOWN = 4_096
MAX_NAME = 256

Token = str | tuple[str, int]
"""The name, where no arguments are asked of it; else with the bits of the tools whose arguments hold, or NOT_CAPTURED."""

NOT_EXECUTED: Token = ("", -2)
"""Of every call that was not executed."""

NO_CONCERN: Token = ("", -3)
"""Of every call the rule neither knows nor minds: so runs that differ in such calls alone may have one shape."""


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
    """What a name calls for: what is known from it alone, the tools that ask for arguments too, and which of those hold."""

    seen: Observed
    asked: int
    bits: Callable[[Mapping[str, Any]], int]
    token: Token


class Observer:
    """Reads calls for one rule. ``tools`` are numbered by their place, the first ``expected`` being the pattern's.

    Without a pattern (``expected`` is None) nothing is extra. ``by_name`` keeps the names of calls that are no concern of
    the rule: two of one name may be an attempt and its retry.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        expected: int | None,
        allow_extra: Sequence[Name],
        forbid: Sequence[Name],
        embed: Embed | None,
        *,
        by_name: bool = False,
    ) -> None:
        self._names = [compile_name(tool.tool) for tool in tools]
        self._tools = tools
        self._embed = embed
        self._by_name = by_name
        for tool in tools:
            compile_arguments(tool.arguments or {}, tool.arguments_mode, embed)  # what is wrong with them shows now
        self._expected = (1 << (expected or 0)) - 1
        self._free = [compile_name(name) for name in (allow_extra if expected is not None else ["*"])]
        self._forbidden = [compile_name(name) for name in forbid]
        self._watches: dict[str, _Watch] = {}
        self._observed: dict[Token, Observed] = {}

    def tokens(self, calls: Sequence[ToolCall]) -> tuple[Token, ...]:
        """A token for each call."""
        # The hottest loop there is: every call of every run comes through it. Names are resolved once and then looked
        # up; arguments are tested only where this rule asks for them under this name.
        watches = self._watches
        found: list[Token] = []
        for call in calls:
            name = call.name
            watch = watches.get(name) or self._watch(name)
            token = watch.token
            if not call.executed:
                token = NOT_EXECUTED
            elif watch.asked:
                arguments = call.arguments
                token = (name, NOT_CAPTURED if arguments is None else watch.bits(arguments))
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
        if token in (NOT_EXECUTED, NO_CONCERN):
            return Observed("", 0, 0, 0, 0, "unscored", 0, executed=token == NO_CONCERN)
        name, bits = (token, 0) if isinstance(token, str) else token
        seen, asked = self._watch(name)[:2]
        if asked:
            surely = seen.surely | (0 if bits == NOT_CAPTURED else bits)
            possibly = seen.surely | (asked if bits == NOT_CAPTURED else bits)
            fits = 0 if seen.otherwise == "forbidden" else possibly & self._expected
            seen = seen._replace(surely=surely, possibly=possibly, fits=fits)
        self._remember(self._observed, name, token, seen)
        return seen

    def _watch(self, name: str) -> _Watch:
        known = self._watches.get(name)
        if known is not None:
            return known
        named = sum(1 << number for number, is_name in enumerate(self._names) if is_name(name))
        asking = [n for n, tool in enumerate(self._tools) if named >> n & 1 and tool.arguments is not None]
        asked = sum(1 << number for number in asking)
        plain = named & ~asked
        otherwise: Outcome = (
            "forbidden"
            if self.is_forbidden(name)
            else "unscored"
            if any(test(name) for test in self._free)
            else "extra"
        )
        fits = 0 if otherwise == "forbidden" else plain & self._expected
        seen = Observed(name, named, plain, plain, fits, otherwise, int(otherwise != "unscored"))
        patterns = [(1 << n, self._tools[n].arguments or {}, self._tools[n].arguments_mode) for n in asking]
        idle = not named and otherwise == "unscored" and not self._by_name
        watch = _Watch(seen, asked, compile_choices(patterns, self._embed), NO_CONCERN if idle else name)
        self._remember(self._watches, name, name, watch)
        return watch

    def _remember(self, known: dict[Any, Any], name: str, key: Token, value: Any) -> None:
        """Names come from agents: what is remembered of them is bounded in number and in length."""
        if len(name) <= MAX_NAME:
            if len(known) >= MAX_KNOWN:
                known.clear()
            known[key] = value
