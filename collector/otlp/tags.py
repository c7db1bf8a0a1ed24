"""Tags of OTLP's messages on the wire: the number of a field << 3 | its wire type (opentelemetry-proto 1.x).

Each is a literal of its own, so that compiled code has the number in place of a name.
"""

from __future__ import annotations

from typing import Final

# Requests of all signals have the same nesting: resources, their scopes, and the items of these: spans, log records, metrics.
RESOURCE: Final = 0x0A
"""Of a resource with its scopes, in a request; of its description, in that."""
ITEM: Final = 0x12
"""Of a scope with its items, in a resource; of an item, in that."""

# Span
TRACE_ID_HEAD: Final = b"\n\x10"
"""The tag and the length of the id, as in the two below."""
SPAN_ID_HEAD: Final = b"\x12\x08"
PARENT_ID_HEAD: Final = b'"\x08'
NAME: Final = 0x2A
KIND: Final = 0x30
START: Final = 0x39
END: Final = 0x41
ATTRIBUTE: Final = 0x4A
EVENT: Final = 0x5A
LINK: Final = 0x6A
STATUS: Final = 0x7A

# KeyValue and AnyValue
KEY: Final = 0x0A
VALUE: Final = 0x12
STRING: Final = 0x0A
