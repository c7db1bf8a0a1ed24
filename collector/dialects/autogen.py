"""AutoGen's runtime of messages, since 0.4: each message is a trace of its own.

Until 0.6 no span says which agent runs, so the trace of a message is all that is known of a run, and the calls after the
next message are in another one.
"""

from __future__ import annotations

from typing import Final

from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span

NAME: Final = "autogen"


def read_span(span: Span) -> GenAISpan:
    """Reads the span of a message that began a trace: the agent that handles it goes on in the traces of others."""
    if span.parent_span_id:
        return IGNORED
    genai_span = context_span_of(span, Role.OTHER, NAME)
    genai_span.note(extent="apart")
    return genai_span


DIALECT: Final[Dialect] = Dialect(name=NAME, scopes=("autogen SingleThreadedAgentRuntime",), read_span=read_span)
