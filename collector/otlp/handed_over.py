"""What an instance that hands the spans of a trace over tells whoever takes them, in attributes of their scope."""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

from collector.otlp.structure import Envelope

_SEEN_FROM: Final = "rightcall.handover.seen_from"
_LACKS_SPANS: Final = "rightcall.handover.lacks_spans"
_ANY: Final = b"rightcall.handover."


class Handover(NamedTuple):
    """What is told of a trace that is handed over."""

    seen_from_ns: int
    """Since when, in wall time, the instance before saw all that began."""
    lacks_spans: bool
    """Whether spans of it that were sent to that instance may be lost."""


def with_handover(envelope: Envelope, handover: Handover) -> Envelope:
    """Returns the envelope of spans that are handed over; of those that were before, it tells what was told then too.

    One whose scope is not OTLP, such as one with a name that is not UTF-8, tells nothing: its spans are to arrive all the same.
    """
    try:
        scope = ScopeSpans.FromString(envelope.scope)
    except ProtobufError:
        return envelope
    before = _handover_of(scope)
    others = [item for item in scope.scope.attributes if item.key not in (_SEEN_FROM, _LACKS_SPANS)]
    del scope.scope.attributes[:]
    scope.scope.attributes.extend(others)
    seen_from_ns = max(handover.seen_from_ns, before.seen_from_ns)
    scope.scope.attributes.add(key=_SEEN_FROM).value.int_value = seen_from_ns
    scope.scope.attributes.add(key=_LACKS_SPANS).value.bool_value = handover.lacks_spans or before.lacks_spans
    return envelope._replace(scope=scope.SerializeToString())


def handover_of(envelope: Envelope) -> Handover | None:
    """Returns what is told of spans that are handed over, None of others."""
    if envelope.scope.find(_ANY) < 0:  # `in` tries a number first, which takes longer than to search
        return None
    try:
        return _handover_of(ScopeSpans.FromString(envelope.scope))
    except ProtobufError:
        return None


def _handover_of(scope: ScopeSpans) -> Handover:
    values = {item.key: item.value for item in scope.scope.attributes if item.key in (_SEEN_FROM, _LACKS_SPANS)}
    seen_from = values[_SEEN_FROM].int_value if _SEEN_FROM in values else 0
    return Handover(max(0, seen_from), _LACKS_SPANS in values and values[_LACKS_SPANS].bool_value)
