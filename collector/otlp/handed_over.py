"""What an instance that hands spans over tells whoever takes them, in an attribute of their scope."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

from collector.otlp.structure import Envelope

_SEEN_FROM: Final = "rightcall.handover.seen_from"
_KEY: Final = _SEEN_FROM.encode()


def with_seen_from(envelope: Envelope, seen_from_ns: int) -> Envelope:
    """Returns the envelope of spans all of whose runs were seen that began since then, in wall time."""
    scope = ScopeSpans.FromString(envelope.scope)
    seen_from_ns = max(seen_from_ns, _seen_from_of(scope))
    others = [item for item in scope.scope.attributes if item.key != _SEEN_FROM]
    del scope.scope.attributes[:]
    scope.scope.attributes.extend(others)
    scope.scope.attributes.add(key=_SEEN_FROM).value.int_value = seen_from_ns
    return envelope._replace(scope=scope.SerializeToString())


def seen_from_ns(envelope: Envelope) -> int:
    """Returns what ``with_seen_from`` told, 0 if spans were not handed over."""
    if _KEY not in envelope.scope:
        return 0
    try:
        return _seen_from_of(ScopeSpans.FromString(envelope.scope))
    except ProtobufError:
        return 0


def _seen_from_of(scope: ScopeSpans) -> int:
    return max([item.value.int_value for item in scope.scope.attributes if item.key == _SEEN_FROM], default=0)
