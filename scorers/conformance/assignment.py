"""The best one-to-one assignment of calls to tools, where order does not matter.

Augmenting paths (Kuhn), started from the required tools, then from the calls that cost something when left over, then
from the optional tools. A path never uncovers a required tool or a costly call; at most it displaces a free call. So each
round keeps what earlier rounds covered, and since the sets that can be covered are matroids on both sides (Mendelsohn and
Dulmage), it covers as many as it could have covered had it come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scorers.work import Work

Edges = Sequence[Sequence[int]]
Partners = list[int | None]


def best_assignment(tools_of: Edges, required: Sequence[bool], costly: Sequence[bool], work: Work) -> Partners:
    """Returns the call assigned to each tool, or None.

    ``tools_of[call]`` are the tools the call fits. As few required tools as possible stay without a call, and as few
    costly calls as possible are left over. Raises WorkLimitError.
    """
    work.spend(2 * sum(map(len, tools_of)), "expect")
    calls_of: list[list[int]] = [[] for _ in required]
    for call, tools in enumerate(tools_of):
        for tool in tools:
            calls_of[tool].append(call)
    call_for: Partners = [None] * len(required)
    tool_for: Partners = [None] * len(tools_of)
    # Most expensive first on either side. A covered tool stays covered in later rounds; only its call may change.
    _cover((tool for tool, needed in enumerate(required) if needed), calls_of, call_for, tool_for, work)
    # Only in this round may a path end at a covered vertex: a free call that loses its tool costs nothing.
    free = [not cost for cost in costly]
    _cover((call for call, cost in enumerate(costly) if cost), tools_of, tool_for, call_for, work, free)
    _cover((tool for tool, needed in enumerate(required) if not needed), calls_of, call_for, tool_for, work)
    return call_for


def _cover(
    starts: Iterable[int],
    edges: Edges,
    side: Partners,
    other_side: Partners,
    work: Work,
    may_lose: Sequence[bool] | None = None,
) -> None:
    """Cover each of ``starts``, if possible, by a path that ends at an uncovered vertex of the other side.

    Where there is none, the path may end at a vertex of this side that ``may_lose`` its partner.
    """
    for start in starts:
        if side[start] is None:
            # Nearly always a neighbor is uncovered, and no path is needed.
            partner = next((other for other in edges[start] if other_side[other] is None), None)
            if partner is not None:
                side[start], other_side[partner] = partner, start
            else:
                _augment(start, edges, side, other_side, work, may_lose)


def _augment(
    start: int, edges: Edges, side: Partners, other_side: Partners, work: Work, may_lose: Sequence[bool] | None
) -> None:
    came_from: dict[int, int] = {}
    queue = [start]
    displaced: tuple[int, int] | None = None
    for vertex in queue:  # breadth first: the list grows during the loop
        work.spend(2 + len(edges[vertex]), "expect")
        for other in edges[vertex]:
            if other in came_from:
                continue
            came_from[other] = vertex
            owner = other_side[other]
            if owner is None:
                _flip(other, came_from, side, other_side)
                return
            # Only noted: a path to an uncovered tool, which displaces nobody, may still be found.
            if may_lose is not None and may_lose[owner] and displaced is None:
                displaced = (other, owner)
            queue.append(owner)
    if displaced is not None:
        end, owner = displaced
        side[owner] = None
        _flip(end, came_from, side, other_side)


def _flip(end: int, came_from: dict[int, int], side: Partners, other_side: Partners) -> None:
    """Reassign every vertex along the path that leads to ``end``."""
    other: int | None = end
    while other is not None:
        vertex = came_from[other]
        previous = side[vertex]
        side[vertex], other_side[other] = other, vertex
        # What the vertex had before is the next edge of the path; the start had none, which ends the loop.
        other = previous
