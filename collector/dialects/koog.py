"""Koog (0.6 to 1.1, JVM): the steps of an agent's graph, whose inputs and outputs hold calls that have spans of their own.

Its agents, requests and calls follow the conventions, and so does each step's conversation.
"""

from __future__ import annotations

from typing import Final

from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, GenAISpan
from collector.model.span import Span

NAME: Final = "koog"


def read_span(_span: Span) -> GenAISpan:
    """Reads a step, which no run needs."""
    return IGNORED


DIALECT: Final[Dialect] = Dialect(
    name=NAME, keys=("koog.node.id", "koog.strategy.name", "koog.subgraph.id"), read_span=read_span
)
