"""The best one-to-one assignment of calls to tools where order does not matter.

Augmenting paths (Kuhn), begun from the required tools, then from the calls that cost something when left over, then from
the rest. A path never frees what is already covered, on either side, so each round keeps what the rounds before it won:
the covered sets are those of a weighted matroid (Mendelsohn and Dulmage), and taking the dearest first is optimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def best_assignment(fits: Sequence[int], required: Sequence[bool], costly: Sequence[bool]) -> list[int | None]:
    """For each tool the call it gets, or None.

    ``fits[call]`` has a bit for each tool the call fits. As few required tools as possible go without, and as few
    costly calls are left over.
    """
    calls_of = [[call for call, mask in enumerate(fits) if mask >> tool & 1] for tool in range(len(required))]
    tools_of = [[tool for tool in range(len(required)) if mask >> tool & 1] for mask in fits]
    call_for: list[int | None] = [None] * len(required)
    tool_for: list[int | None] = [None] * len(fits)
    tools = sorted(range(len(required)), key=lambda tool: not required[tool])
    calls = [call for call in range(len(fits)) if costly[call]]
    _cover((tool for tool in tools if required[tool]), calls_of, call_for, tool_for)
    _cover(calls, tools_of, tool_for, call_for)
    _cover((tool for tool in tools if not required[tool]), calls_of, call_for, tool_for)
    return call_for


def _cover(
    starts: Iterable[int], edges: Sequence[Sequence[int]], here: list[int | None], there: list[int | None]
) -> None:
    """Cover each start that can be, by an alternating path to an uncovered end on the other side."""
    for start in starts:
        if here[start] is not None:
            continue
        came_from: dict[int, int] = {}
        queue = [start]
        for side in queue:  # grows while it is walked: breadth first
            end = next((other for other in edges[side] if there[other] is None and other not in came_from), None)
            if end is not None:
                came_from[end] = side
                _flip(end, came_from, here, there)
                break
            for other in edges[side]:
                if other not in came_from:
                    came_from[other] = side
                    owner = there[other]
                    if owner is not None:
                        queue.append(owner)


def _flip(end: int, came_from: dict[int, int], here: list[int | None], there: list[int | None]) -> None:
    at: int | None = end
    while at is not None:
        side = came_from[at]
        before = here[side]
        here[side], there[at] = at, side
        at = before
