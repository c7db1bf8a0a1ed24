"""About how many bytes the parts of an open or finished trace take: known from what was received, never measured."""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.otlp.lazy import Envelope

TRACE: Final = 1_000
"""A trace without its spans."""
PACKED_TRACE: Final = 1_200
"""A packed trace without its packed state, with its deadline and the gaps that its objects left in memory."""
PAST: Final = 2_000
"""What is remembered of finished runs, to rebuild a later turn without them."""
VERDICT: Final = 300
"""That a run has its verdict."""
KNOWN_SPAN: Final = 150
"""A span of which only the id is known."""
SPAN: Final = 600
"""A decoded span without its texts and attributes."""
SCORED_SPAN: Final = 500
"""What is kept of a span in a verdict that waits to be confirmed."""
SHORT: Final = 4 << 10
"""A span of up to this many bytes counts as twice what was received, a longer one as what is kept of it."""
_STRUCTURED: Final = 16  # objects take at most about this many times the bytes they were decoded from
_LOOKED_AT: Final = 1_000  # objects of one value: all spans of a slice are taken in one step, which must be short
_MAX_RESOURCE: Final = 64 << 10  # of a decoded resource, whatever was received


def span_bytes(span: GenAISpan, received: int) -> int:
    """Returns about how many bytes a decoded span takes; ``received`` is how many it was decoded from."""
    if received <= SHORT:
        return SPAN + 2 * received
    size = SPAN + _value_bytes(span.attributes, received)
    told = span.content
    content = () if told is None else (told.output, told.tool_definitions, told.answer)
    # The user's message is often the history itself.
    user_input = None if span.user_input is span.history else span.user_input
    for value in (span.arguments, span.output, span.history, user_input, *content):
        if value is not None:
            size += _value_bytes(value, received)
    return size


def _value_bytes(value: object, received: int) -> int:
    """Returns about how many bytes a value takes with all that is in it: of a text, which is the usual value, at once."""
    # Looked at, and not guessed from what was received: of a long message a list of its calls may be all that is kept.
    size, stack = 0, [value]
    for _ in range(_LOOKED_AT):
        if not stack:
            return size
        node = stack.pop()
        # Python keeps one, two or four bytes a character, as the widest one needs: the length alone does not tell.
        size += getsizeof(node)
        if isinstance(node, dict):
            stack += node.keys()
            stack += node.values()
        elif isinstance(node, (list, tuple)):
            stack += node
    return size + _STRUCTURED * received if stack else size


def envelope_bytes(envelope: Envelope) -> int:
    """Returns about how many bytes resource and scope take, as received and as decoded."""
    received = len(envelope.resource) + len(envelope.scope)
    return received + min(4 * received, _MAX_RESOURCE)
