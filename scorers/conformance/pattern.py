"""A pattern as what is left of it: the theory behind the alignment.

A pattern is a tree of tools, sequences, blocks in any order, alternatives and repetitions (an option is a repetition of
none or one). What is left of it once some calls are matched is again such a tree. `Pattern` numbers these *rests* (equal
ones share a number: they are the states of an automaton that is built only as far as runs reach it) and tells of each:

- ``moves``: how a tool can be matched next: what has to be skipped before it, and which rest remains;
- ``fewest``: the cheapest way to end here, as the tools that would be missing;
- ``least``, ``most``: how often each tool occurs at least and at most, to bound what is still to pay.

The branches of ``any_order`` interleave; the iterations of ``repeat`` do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from scorers.rules import model as rules
from scorers.rules.model import Element, Tool

MAX_RESTS = 20_000
"""How many rests a pattern may have, by estimate: blocks in any order multiply them."""

Counts = Mapping[int, float]


class Node(NamedTuple):
    """A tree, or a rest of one: children by their numbers, a tool by its own; bounds are a repetition's."""

    kind: Literal["tool", "sequence", "any_order", "one_of", "repeat"]
    children: tuple[int, ...] = ()
    tool: int = -1
    least: int = 0
    most: float = 0


class Move(NamedTuple):
    """Match a tool next, with ``skipped`` missing before it; ``rest`` remains.

    ``certain`` says that nothing is skipped and nothing decided by it, ``alone`` that moreover nothing else can come
    first: a required tool outside any block. A call that fits no other tool is best matched by an ``alone`` move, and
    by a ``certain`` one where the tool occurs only once, whatever comes later.
    """

    skipped: tuple[int, ...]
    rest: int
    certain: bool = False
    alone: bool = False


class PatternError(ValueError):
    """The pattern cannot be used as written."""


class Pattern:
    """A pattern and those of its rests that were met. ``tools[i]`` is the tool number i; equal tools share a number.

    ``chain`` are the tools of a pattern that is one plain sequence of them, ``places(fits)`` a bit for each of its
    positions that holds one of the tools whose bits are in ``fits``; ``bag`` those of one that is a single block
    in any order, each with whether it is required; ``once`` those that occur at most once. Raises PatternError.
    """

    def __init__(self, element: Element) -> None:
        self.tools: list[Tool] = []
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self.moves: Callable[[int, int], tuple[Move, ...]] = cache(self._find_moves)
        self.fewest: Callable[[int], tuple[int, ...]] = cache(self._find_fewest)
        self.least: Callable[[int], Counts] = cache(self._find_least)
        self.most: Callable[[int], Counts] = cache(self._find_most)
        self.done = self._sequence(())
        self.start = self._build(element)
        self.once = frozenset(tool for tool, times in self.most(self.start).items() if times == 1)
        self.chain = self._as_chain()
        self.bag = self._as_bag()
        self.places: Callable[[int], int] = lru_cache(4_096)(self._find_places)
        if self.bag is None and (rests := self._estimate(self.start)) > MAX_RESTS:
            raise PatternError(
                f"it has about {rests:.0e} states, more than {MAX_RESTS}: put fewer or smaller elements into any_order, "
                "or a lower max on repeat"
            )

    @property
    def size(self) -> int:
        """How many rests are remembered."""
        return len(self._nodes)

    def _find_moves(self, rest: int, tool: int) -> tuple[Move, ...]:
        node = self._nodes[rest]
        if tool not in self.most(rest):
            return ()
        if node.kind == "tool":
            return (Move((), self.done, certain=True, alone=True),)
        if node.kind == "one_of":
            moves = [move for child in node.children for move in self.moves(child, tool)]
            return tuple(Move(move.skipped, move.rest) for move in moves)
        finders = {"sequence": self._in_sequence, "any_order": self._in_any_order, "repeat": self._in_repeat}
        return tuple(dict.fromkeys(finders[node.kind](node, tool)))

    def _in_sequence(self, node: Node, tool: int) -> Iterator[Move]:
        skipped: list[int] = []
        for at, child in enumerate(node.children):
            for move in self.moves(child, tool):
                rest = self._sequence((move.rest, *node.children[at + 1 :]))
                sure = (move.certain, move.alone) if at == 0 else (False, False)
                yield Move((*skipped, *move.skipped), rest, *sure)
            if self._nodes[child].tool == tool:
                return  # to skip a required tool and match it later is no cheaper than to match it and skip the later one
            skipped += self.fewest(child)

    def _in_any_order(self, node: Node, tool: int) -> Iterator[Move]:
        # Nothing is skipped here: what is never matched is missing when the block is left, in whatever order that was.
        for at, child in enumerate(node.children):
            if child not in node.children[:at]:  # of equal branches one is enough
                others = node.children[:at] + node.children[at + 1 :]
                for move in self.moves(child, tool):
                    yield move._replace(rest=self._any_order((move.rest, *others)), alone=False)

    def _in_repeat(self, node: Node, tool: int) -> Iterator[Move]:
        # No iteration is skipped before another: they are all alike, so those missing may as well be the last ones.
        (child,) = node.children
        again = self._repeat(child, max(node.least - 1, 0), node.most - 1)
        for move in self.moves(child, tool):
            # To take an optional tool decides nothing; to enter anything longer decides on the rest of it.
            certain = move.certain and node.most == 1 and move.rest == self.done
            yield Move(move.skipped, self._sequence((move.rest, again)), certain)

    # What a rest needs at least. All of it is asked again and again, and a rest never changes: so it is kept.

    def _find_fewest(self, rest: int) -> tuple[int, ...]:
        node = self._nodes[rest]
        ways = [self.fewest(child) for child in node.children]
        if node.kind == "tool":
            return (node.tool,)
        if node.kind == "one_of":
            return min(ways, key=len)
        if node.kind == "repeat":
            return ways[0] * node.least
        return tuple(tool for way in ways for tool in way)

    def _find_least(self, rest: int) -> Counts:
        node = self._nodes[rest]
        return _count(node, [self.least(child) for child in node.children], min, node.least)

    def _find_most(self, rest: int) -> Counts:
        node = self._nodes[rest]
        return _count(node, [self.most(child) for child in node.children], max, node.most)

    # Rests are normal forms, so that equal ones meet: sequences and blocks are flat, blocks sorted, nothing in vain.

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
        return self._number(Node("tool", tool=number_of(element, self.tools)))

    # Shapes for which the alignment has a way that needs no search.

    def _as_chain(self) -> tuple[int, ...] | None:
        node = self._nodes[self.start]
        parts = [self._nodes[child] for child in node.children] if node.kind == "sequence" else [node]
        return tuple(part.tool for part in parts) if all(part.kind == "tool" for part in parts) else None

    def _find_places(self, fits: int) -> int:
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

    def _estimate(self, rest: int) -> float:
        """About how many rests there would be, had every run been seen. Tools matched for certain multiply nothing."""
        node = self._nodes[rest]
        below = [self._estimate(child) for child in node.children]
        if node.kind == "tool":
            return 2
        if node.kind == "any_order":
            certain = [self._nodes[child].tool in self.once for child in node.children]
            branching = [number for number, sure in zip(below, certain, strict=True) if not sure]
            return (1 + certain.count(True)) * math.prod(branching)
        if node.kind == "repeat":
            # Iterations beyond the required ones leave the same rest behind when there is no upper bound to count down.
            return below[0] * (node.least + 1 if node.most == math.inf else node.most)
        return 1 + sum(number - 1 for number in below)


def number_of(tool: Tool, tools: list[Tool]) -> int:
    """The number of a tool in the list, which it joins unless it is there. (By text: Python has True equal 1.)"""
    plain = Tool(tool=tool.tool, arguments=tool.arguments, arguments_mode=tool.arguments_mode)
    known = [repr(one) for one in tools]
    if repr(plain) not in known:
        tools.append(plain)
        return len(known)
    return known.index(repr(plain))


def _count(node: Node, below: Sequence[Counts], pick: Callable[..., float], times: float) -> Counts:
    """How often each tool occurs in the node, from how often it does in the children; zero counts are left out."""
    if node.kind == "tool":
        return {node.tool: 1}
    if node.kind == "repeat":
        return {tool: count * times for tool, count in below[0].items()} if times else {}
    combine = pick if node.kind == "one_of" else sum
    every = dict.fromkeys(tool for counts in below for tool in counts)
    totals = {tool: combine([counts.get(tool, 0) for counts in below]) for tool in every}
    return {tool: total for tool, total in totals.items() if total}
