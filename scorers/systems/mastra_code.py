"""Mastra's ``createToolCallAccuracyScorerCode`` (npm @mastra/evals 1.10.2): was the tool, or the order of tools, called?

Formula, with A the names of the calls whose state is result, call or output-error (a call that threw counts, an
unfinished ``partial-call`` does not)::

    A empty                     0
    expectedToolOrder not empty strict: A == order;  else: the FIRST places in A of order's names exist and increase
    expectedTool                strict: A == [expectedTool];  else: expectedTool in A

Arguments are ignored, and what is expected comes from the options only: ``expected`` is ignored.

The documentation and the code differ:

- The documentation says the sequence must appear in order, extras allowed. The code compares first occurrences:
  ``[b, a, b]`` against ``[a, b]`` scores 0, and an order that names a tool twice never passes (unless strict).
- It cannot be expected that no tool is called: without a call the score is 0, even for an empty ``expectedToolOrder``.

Raises, like the original's constructor, if neither option is given.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call
from scorers.options import Options, parse_options
from scorers.score import Score

NAME = "mastra_code"
VERSION = "@mastra/evals@1.10.2"

COUNTED_STATES = frozenset({None, "result", "call", "output-error"})


class MastraCodeOptions(Options):
    """``layout`` is how the calls were grouped into messages; it has no effect on the score."""

    expected_tool: str | None = Field(default=None, alias="expectedTool")
    expected_tool_order: list[str] | None = Field(default=None, alias="expectedToolOrder")
    strict_mode: bool = Field(default=False, alias="strictMode")
    layout: Literal["parts", "per_message"] | None = None


OPTIONS: Final = MastraCodeOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer with the original's options. Raises `ValueError` for invalid ones, or none."""
    parsed = parse_options(NAME, MastraCodeOptions, options)
    # In JavaScript an empty list is true and an empty text is not.
    if not parsed.expected_tool and parsed.expected_tool_order is None:
        raise OriginalError("mastra_code needs expectedTool or expectedToolOrder")
    return make_scorer(parsed, _score, reads_expected=False, reads_arguments=False)


def called_tools(actual: list[Call]) -> list[str]:
    """The names Mastra takes from the run's messages, in order."""
    return [call.tool for call in actual if call.tool and call.state in COUNTED_STATES]


def _score(options: MastraCodeOptions, _expected: list[Call], actual: list[Call]) -> Score:
    tools = called_tools(actual)
    order = options.expected_tool_order
    places = _first_positions(order or [], tools)
    called = bool(options.expected_tool) and _is_called(options, tools)
    ordered = None if order is None else (tools == order if options.strict_mode else _is_increasing(places))
    good = bool(tools) and bool(ordered if order else called)
    if order and options.strict_mode:
        reason = f"the {len(tools)} calls made are {'' if ordered else 'not '}exactly the {len(order)} of the order"
    elif order:
        reason = f"the tools of the order are first called at the places {places}, which must exist and increase"
    else:
        only = " and nothing else" if options.strict_mode else ""
        reason = f"{options.expected_tool!r}{only} was {'' if called else 'not '}called, {len(tools)} calls made"
    details = {
        "actualTools": tools,
        "hasToolCalls": bool(tools),
        "correctToolCalled": called,
        "correctOrderCalled": ordered,
    }
    return labelled_score(float(good), f"Scores {good:d}: {reason}", details)


def _is_called(options: MastraCodeOptions, tools: list[str]) -> bool:
    return tools == [options.expected_tool] if options.strict_mode else options.expected_tool in tools


def _first_positions(order: list[str], tools: list[str]) -> list[int | None]:
    first: dict[str, int] = {}
    for place, tool in enumerate(tools):
        first.setdefault(tool, place)
    return [first.get(name) for name in order]


def _is_increasing(places: list[int | None]) -> bool:
    known = [place for place in places if place is not None]
    return len(known) == len(places) and known == sorted(set(known))
