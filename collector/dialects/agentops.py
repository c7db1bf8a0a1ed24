"""AgentOps (agentops 0.4): its wrapper of OpenAI's client writes what a model asks for as spans of the kind of a tool's.

The next request to the model tells of them too, with what came of each. All else of AgentOps is read by other dialects.
"""

from __future__ import annotations

from typing import Final

from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, GenAISpan
from collector.model.span import Span

NAME: Final = "agentops"

_SCOPE: Final = "agentops.instrumentation.providers.openai.wrappers.chat"


def read_span(span: Span) -> GenAISpan | None:
    """Leaves out the calls that a model asked for: whether they ran is told elsewhere."""
    return IGNORED if span.name.startswith("tool_call.") else None


DIALECT: Final = Dialect(name=NAME, keys=(), scopes=(_SCOPE,), read_span=read_span, whole_scopes=(_SCOPE,))
