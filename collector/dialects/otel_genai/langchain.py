"""LangChain under OpenLIT (1.45, for JavaScript 1.15): its own ids of calls that failed, and hooks of middleware as agents."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.span import Span
from collector.payloads.values import known_name_of

_OPENLIT: Final = "openlit.instrumentation.langchain"
_OWN_IDS: Final = (_OPENLIT, "@openlit/instrumentation-langchain")
_HOOKS: Final = (".before_agent", ".after_agent")
"""End the names of what middleware does before and after a run: as agents, since the word is in their names."""
_ERROR: Final = 2  # of the status of a span


def call_id_of(span: Span) -> str | None:
    """Returns the id of a call. OpenLIT puts in the model's when the tool has returned: until then it has LangChain's own."""
    if span.status == _ERROR and span.scope.name in _OWN_IDS:
        return None
    return known_name_of(span.attributes.get(semconv.TOOL_CALL_ID))


def is_hook(span: Span) -> bool:
    """Whether it is the span of a middleware's hook, and of no agent."""
    return span.scope.name == _OPENLIT and span.name.endswith(_HOOKS)
