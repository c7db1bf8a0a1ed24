"""Random rules and runs for property tests: small enough for brute force, with few names so that calls collide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scorers import ToolCall, Trajectory

NAMES = "abcd"

tools = st.one_of(
    st.sampled_from([*NAMES, *NAMES, "[ab]", "*"]),
    st.builds(lambda name, x: {"tool": name, "arguments": {"x": x}}, st.sampled_from(NAMES), st.integers(0, 1)),
)


def _compound(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda items: {"sequence": items}, some),
        st.builds(lambda items: {"any_order": items}, some),
        st.builds(lambda items: {"one_of": items}, some),
        st.builds(lambda item: {"optional": item}, children),
        st.builds(lambda item, least: {"repeat": item, "min": least, "max": 2}, children, st.integers(0, 2)),
    )


MOST_TOOLS = 6


def longest(element: Any) -> int:
    """The calls of the longest run a pattern, as written, accepts."""
    match element:
        case {"sequence": items} | {"any_order": items}:
            return sum(map(longest, items))
        case {"one_of": items}:
            return max(map(longest, items))
        case {"optional": item}:
            return longest(item)
        case {"repeat": item, "max": most}:
            return longest(item) * int(most)
    return 1


elements = st.recursive(tools, _compound, max_leaves=5).filter(lambda element: longest(element) <= MOST_TOOLS)
patterns = elements.map(lambda element: element if isinstance(element, dict) else {"tool": element})

calls = st.builds(
    lambda name, x, failed: (name, x, failed),
    st.sampled_from(NAMES + "e"),
    st.one_of(st.none(), st.integers(0, 1)),
    st.booleans(),
)


@st.composite
def trajectories(draw: st.DrawFn, *, most: int = 5, concurrent: bool = True) -> Trajectory:
    """A run of a few calls; every third or so shares the step of the one before it."""
    step, made = 0, []
    for name, x, failed in draw(st.lists(calls, max_size=most)):
        step += 0 if concurrent and draw(st.integers(0, 2)) == 0 else 1
        arguments = None if x is None else {"x": x, "y": "z"}
        made.append(ToolCall(name, arguments, step=step, status="error" if failed else "ok"))
    return Trajectory(made)
