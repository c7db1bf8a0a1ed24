"""The best one-to-one assignment of calls to tools where order does not matter.

Alternating paths (Kuhn), begun from the required tools, then from the calls that cost something when left over, then
from the optional tools. A path keeps every required tool covered and every costly call, at most it lets go a call that is
free: so each round keeps what the rounds before it won, and as the sets that can be covered are matroids on both sides
(Mendelsohn and Dulmage), it wins as much as it could have won first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Edges = Sequence[Sequence[int]]
Partners = list[int | None]


def best_assignment(tools_of: Edges, required: Sequence[bool], costly: Sequence[bool]) -> Partners:
    """For each tool the call it gets, or None.

    ``tools_of[call]`` are the tools the call fits. As few required tools as possible go without, and as few costly calls
    are left over.
    """
    calls_of: list[list[int]] = [[] for _ in required]
    for call, tools in enumerate(tools_of):
        for tool in tools:
            calls_of[tool].append(call)
    call_for: Partners = [None] * len(required)
    tool_for: Partners = [None] * len(tools_of)
    # Dearest first on either side. A tool covered stays covered in the later rounds: they change its call at most.
    _cover((tool for tool, needed in enumerate(required) if needed), calls_of, call_for, tool_for)
    free = [not cost for cost in costly]
    _cover((call for call, cost in enumerate(costly) if cost), tools_of, tool_for, call_for, free)
    _cover((tool for tool, needed in enumerate(required) if not needed), calls_of, call_for, tool_for)
    return call_for


def _cover(
    starts: Iterable[int], edges: Edges, here: Partners, there: Partners, spare: Sequence[bool] | None = None
) -> None:
    """Cover each start that can be, by an alternating path to an uncovered end on the other side, or to a spare here."""
    for start in starts:
        if here[start] is None:
            # Nearly always there is one to take at once; the walk along paths is for the rest.
            free = next((other for other in edges[start] if there[other] is None), None)
            if free is not None:
                here[start], there[free] = free, start
            else:
                _augment(start, edges, here, there, spare)


def _augment(start: int, edges: Edges, here: Partners, there: Partners, spare: Sequence[bool] | None) -> None:
    came_from: dict[int, int] = {}
    queue = [start]
    loser: tuple[int, int] | None = None
    for side in queue:  # grows while it is walked: breadth first
        for other in edges[side]:
            if other in came_from:
                continue
            came_from[other] = side
            owner = there[other]
            if owner is None:
                _flip(other, came_from, here, there)
                return
            if spare is not None and spare[owner] and loser is None:
                loser = (other, owner)
            queue.append(owner)
    if loser is not None:
        end, owner = loser
        here[owner] = None
        _flip(end, came_from, here, there)


def _flip(end: int, came_from: dict[int, int], here: Partners, there: Partners) -> None:
    at: int | None = end
    while at is not None:
        side = came_from[at]
        before = here[side]
        here[side], there[at] = at, side
        at = before
