"""A pattern and its residuals, which the alignment searches.

A pattern is a tree of tools, sequences, blocks in any order, alternatives and repetitions (an optional element is a
repetition of zero or one). What remains of it after some calls are matched is again such a tree: a *residual*, as in the
derivatives of a regular expression. `Pattern` numbers the residuals (equal ones share a number: they are the states of an
automaton that is built only as far as runs reach it) and computes for each:

- ``moves``: how a tool can be matched next: what must be skipped before it, and which residual remains;
- ``fewest``: the cheapest way to end here, as the tools that would be missing;
- ``least``, ``most``: how often each tool occurs at least and at most, to bound the remaining cost.

The branches of ``any_order`` interleave; the iterations of ``repeat`` do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from scorers.rules import model as rules
from scorers.rules.model import Element, Tool

MAX_RESIDUALS = 20_000
"""Residuals a pattern may have, by estimate: blocks in any order multiply them."""

Counts = Mapping[int, float]


class Node(NamedTuple):
    """A pattern or a residual. Children and tools are numbers; ``least`` and ``most`` bound a repetition."""

    kind: Literal["tool", "sequence", "any_order", "one_of", "repeat"]
    children: tuple[int, ...] = ()
    tool: int = -1
    least: int = 0
    most: float = 0


class Move(NamedTuple):
    """Match a tool next, with ``skipped`` missing before it; ``residual`` remains.

    A move is ``certain`` if it skips nothing and rules out no alternative. It is ``alone`` if, in addition, nothing else
    can come first: a required tool outside any block. A call that fits no other tool is best matched by an ``alone`` move,
    or by a ``certain`` one if the tool occurs only once, whatever comes later.
    """

    skipped: tuple[int, ...]
    residual: int
    certain: bool = False
    alone: bool = False


class PatternError(ValueError):
    """The pattern cannot be used as written."""


class NumberedTools:
    """Tools with their numbers: equal ones share a number. Compared by repr, since in Python True equals 1."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.tools: list[Tool] = []
        self._numbers: dict[str, int] = {}
        for tool in tools:
            self.number(tool)

    def number(self, tool: Tool) -> int:
        """Returns the number of a tool, which is the next one if there is no equal tool yet."""
        plain = Tool.model_construct(tool=tool.tool, arguments=tool.arguments, arguments_mode=tool.arguments_mode)
        number = self._numbers.setdefault(repr(plain), len(self.tools))
        if number == len(self.tools):
            self.tools.append(plain)
        return number


class Pattern:
    """A pattern and the residuals reached so far. ``tools[i]`` is tool number i; equal tools share a number.

    ``chain`` holds the tools of a pattern that is a plain sequence, and ``positions(fits)`` has a bit for each position of
    the chain whose tool is among the bits of ``fits``. ``bag`` holds the tools of a pattern that is a single block in any
    order, each with whether it is required. ``once`` holds the tools that occur at most once. Raises PatternError.
    """

    def __init__(self, element: Element) -> None:
        self._numbered = NumberedTools()
        self.tools = self._numbered.tools
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        # Caches of the instance, without a bound: they go with the pattern, which its owner makes anew when it has
        # grown too large.
        self.moves: Callable[[int, int], tuple[Move, ...]] = cache(self._find_moves)
        self.fewest: Callable[[int], tuple[int, ...]] = cache(self._find_fewest)
        self.least: Callable[[int], Counts] = cache(self._find_least)
        self.most: Callable[[int], Counts] = cache(self._find_most)
        self.done = self._sequence(())
        self.start = self._build(element)
        self.once = frozenset(tool for tool, times in self.most(self.start).items() if times == 1)
        self.chain = self._as_chain()
        self.bag = self._as_bag()
        self.positions: Callable[[int], int] = lru_cache(4_096)(self._find_positions)
        # Refused when the rule is loaded, not when a run meets it. A block is aligned without residuals, however large.
        if self.bag is None and (size := self._estimate(self.start)) > MAX_RESIDUALS:
            raise PatternError(
                f"the pattern has about {size:.0e} states, more than {MAX_RESIDUALS}: put fewer or smaller elements into "
                "any_order, or lower the max of repeat"
            )

    @property
    def size(self) -> int:
        """The number of residuals reached so far."""
        return len(self._nodes)

    def width(self, residual: int) -> int:
        """The number of children and of tools of a residual, by which its properties take time to compute."""
        return 1 + len(self._nodes[residual].children) + len(self.most(residual))

    def _find_moves(self, residual: int, tool: int) -> tuple[Move, ...]:
        node = self._nodes[residual]
        if tool not in self.most(residual):
            return ()
        if node.kind == "tool":
            return (Move((), self.done, certain=True, alone=True),)
        if node.kind == "one_of":
            # Without the flags: to enter a branch rules out the others, which later calls may fit better.
            moves = [move for child in node.children for move in self.moves(child, tool)]
            return tuple(Move(move.skipped, move.residual) for move in moves)
        finders = {"sequence": self._in_sequence, "any_order": self._in_any_order, "repeat": self._in_repeat}
        return tuple(dict.fromkeys(finders[node.kind](node, tool)))

    def _in_sequence(self, node: Node, tool: int) -> Iterator[Move]:
        skipped: list[int] = []
        for at, child in enumerate(node.children):
            for move in self.moves(child, tool):
                residual = self._sequence((move.residual, *node.children[at + 1 :]))
                # Past the first child a move skips something or gives up an optional call: another may be cheaper.
                flags = (move.certain, move.alone) if at == 0 else (False, False)
                yield Move((*skipped, *move.skipped), residual, *flags)
            if self._nodes[child].tool == tool:
                return  # skipping this occurrence and matching a later one is never cheaper
            skipped += self.fewest(child)

    def _in_any_order(self, node: Node, tool: int) -> Iterator[Move]:
        # Nothing is skipped inside a block: what is never matched is missing when the block is left.
        for at, child in enumerate(node.children):
            if child not in node.children[:at]:  # equal branches give equal moves
                others = node.children[:at] + node.children[at + 1 :]
                for move in self.moves(child, tool):
                    yield move._replace(residual=self._any_order((move.residual, *others)), alone=False)

    def _in_repeat(self, node: Node, tool: int) -> Iterator[Move]:
        # No iteration is skipped before another: they are all equal, so the missing ones can be the last ones.
        (child,) = node.children
        again = self._repeat(child, max(node.least - 1, 0), node.most - 1)
        for move in self.moves(child, tool):
            # Matching an optional tool rules nothing out; entering a longer element makes its remaining tools required.
            certain = move.certain and node.most == 1 and move.residual == self.done
            yield Move(move.skipped, self._sequence((move.residual, again)), certain)

    # Properties of a residual. They are cached, since a residual never changes and the search needs them repeatedly.

    def _find_fewest(self, residual: int) -> tuple[int, ...]:
        node = self._nodes[residual]
        ways = [self.fewest(child) for child in node.children]
        if node.kind == "tool":
            return (node.tool,)
        if node.kind == "one_of":
            return min(ways, key=len)
        if node.kind == "repeat":
            return ways[0] * node.least
        return tuple(tool for way in ways for tool in way)

    def _find_least(self, residual: int) -> Counts:
        node = self._nodes[residual]
        return _count(node, [self.least(child) for child in node.children], node.least, is_least=True)

    def _find_most(self, residual: int) -> Counts:
        node = self._nodes[residual]
        return _count(node, [self.most(child) for child in node.children], node.most, is_least=False)

    # Residuals are in normal form, so that equal ones share a number: flat sequences, flat sorted blocks, no redundant nodes.

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def _flat(self, kind: str, children: Sequence[int]) -> list[int]:
        nodes = [(child, self._nodes[child]) for child in children if child != self.done]
        return [part for child, node in nodes for part in (node.children if node.kind == kind else (child,))]

    def _sequence(self, children: Sequence[int]) -> int:
        flat = self._flat("sequence", children) if children else []
        return flat[0] if len(flat) == 1 else self._number(Node("sequence", tuple(flat)))

    def _any_order(self, children: Sequence[int]) -> int:
        flat = self._flat("any_order", children)
        # Sorted: the order of branches means nothing, and equal blocks must be one state.
        return self._sequence(flat) if len(flat) < 2 else self._number(Node("any_order", tuple(sorted(flat))))

    def _repeat(self, child: int, least: int, most: float) -> int:
        if most == 0 or child == self.done:
            return self.done
        return child if least == most == 1 else self._number(Node("repeat", (child,), least=least, most=most))

    def _build(self, element: Element) -> int:
        match element:
            case rules.Sequence(sequence=items):
                return self._sequence([self._build(item) for item in items])
            case rules.AnyOrder(any_order=items):
                return self._any_order([self._build(item) for item in items])
            case rules.OneOf(one_of=items):
                choices = tuple(dict.fromkeys(self._build(item) for item in items))
                return choices[0] if len(choices) == 1 else self._number(Node("one_of", choices))
            case rules.Optional(optional=item):
                return self._repeat(self._build(item), 0, 1)
            case rules.Repeat(repeat=item, min=least, max=most):
                return self._repeat(self._build(item), least, math.inf if most is None else most)
        return self._number(Node("tool", tool=self._numbered.number(element)))

    # Patterns that can be aligned without a search.

    def _as_chain(self) -> tuple[int, ...] | None:
        node = self._nodes[self.start]
        parts = [self._nodes[child] for child in node.children] if node.kind == "sequence" else [node]
        return tuple(part.tool for part in parts) if all(part.kind == "tool" for part in parts) else None

    def _find_positions(self, fits: int) -> int:
        return sum(1 << at for at, tool in enumerate(self.chain or ()) if fits >> tool & 1)

    def _as_bag(self) -> tuple[tuple[int, bool], ...] | None:
        node = self._nodes[self.start]
        parts = [self._nodes[child] for child in (node.children if node.kind == "any_order" else (self.start,))]
        bag = []
        for part in parts:
            optional = part.kind == "repeat" and (part.least, part.most) == (0, 1)
            tool = self._nodes[part.children[0]] if optional else part
            if tool.kind != "tool":
                return None
            bag.append((tool.tool, not optional))
        return tuple(bag)

    def _estimate(self, residual: int) -> float:
        """Estimates how many residuals all runs together could reach. Tools whose match is certain do not multiply them."""
        node = self._nodes[residual]
        below = [self._estimate(child) for child in node.children]
        if node.kind == "tool":
            return 2
        if node.kind == "any_order":
            certain = [self._nodes[child].tool in self.once for child in node.children]
            branching = [number for number, is_certain in zip(below, certain, strict=True) if not is_certain]
            return (1 + certain.count(True)) * math.prod(branching, start=1.0)
        if node.kind == "repeat":
            # Without an upper bound, iterations beyond the required ones all leave the same residual.
            return below[0] * (node.least + 1 if node.most == math.inf else node.most)
        return sum(below, 1.0 - len(below))  # one for all done, and what each child has besides its own


def _count(node: Node, below: Sequence[Counts], times: float, *, is_least: bool) -> Counts:
    """How often each tool occurs in the node, given how often it occurs in its children; zero counts are left out."""
    if node.kind == "tool":
        return {node.tool: 1}
    if node.kind == "repeat":
        return {tool: count * times for tool, count in below[0].items()} if times else {}
    totals = dict(below[0]) if below else {}
    for counts in below[1:]:
        if node.kind == "one_of" and is_least:
            totals = {tool: min(total, counts[tool]) for tool, total in totals.items() if tool in counts}
            continue
        for tool, count in counts.items():
            other = totals.get(tool, 0)
            totals[tool] = max(other, count) if node.kind == "one_of" else other + count
    return totals
