"""A rule's ``expect`` as one pattern, and the names that are allowed or forbidden besides it.

=============  ==============================================  =================  ==========================
mode           pattern                                         further calls      as in
=============  ==============================================  =================  ==========================
strict         ``sequence`` of the tools                       extra              all
in_order       ``sequence`` of the tools                       allowed            Vertex AI, ADK, Azure
any_order      ``any_order`` of the tools                      allowed            Vertex AI, ADK, Azure
superset       the same as any_order                           allowed            LangChain agentevals
subset         ``any_order`` of the tools, each optional       extra              LangChain agentevals
single_tool    the one tool                                    allowed            Vertex AI single_tool_use
=============  ==============================================  =================  ==========================

The pattern ``any_order: [...]`` itself, without a mode, allows no further calls: LangChain calls that unordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scorers.rules.matchers import Name
from scorers.rules.model import AnyOrder, Element, Expect, Mode, Optional, Tool
from scorers.rules.model import Sequence as InSequence

ANY_NAME = "*"
_OPEN_MODES = frozenset({"in_order", "any_order", "superset", "single_tool"})


@dataclass(frozen=True, slots=True)
class Expectation:
    """The pattern (None: any call is allowed), and the names of calls that are allowed or forbidden besides it."""

    element: Element | None
    allow_extra: Sequence[Name]
    forbid: Sequence[Name]


def compile_expectation(expect: Expect | None) -> Expectation:
    """Returns the expectation with a named mode expanded into its pattern."""
    if expect is None:
        return Expectation(None, (), ())
    if expect.mode is None:
        return Expectation(expect.element(), expect.allow_extra, expect.forbid)
    element = _pattern_of(expect.mode, expect.tools or [])
    # Allowed, not optional: a call beyond the pattern then costs nothing, and adds nothing to the denominator.
    allowed = [*expect.allow_extra, ANY_NAME] if expect.mode in _OPEN_MODES else expect.allow_extra
    return Expectation(element, allowed, expect.forbid)


def _pattern_of(mode: Mode, tools: list[Tool]) -> Element:
    if mode in ("strict", "in_order"):
        return InSequence(sequence=list(tools))
    if mode == "subset":
        return AnyOrder(any_order=[Optional(optional=tool) for tool in tools])
    return AnyOrder(any_order=list(tools))
