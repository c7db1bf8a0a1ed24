"""The structure of a request: its resources, scopes and items, counted and limited before an object is made of any item.

The three levels are the same for traces, logs and metrics. Protobuf parses whatever is small: that is fastest. It would copy
what is large at each level, and take eight times the memory of a request of empty items: that is walked field by field, as far
as the first limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from google.protobuf.message import DecodeError as ProtobufError

from collector.errors import DecodeError, TooLargeError
from collector.otlp import schema
from collector.otlp.wire import field_head, split_message

_LARGE = 1 << 20  # bytes of a request or resource
_SLICE_ITEMS, _SLICE_BYTES = 600, 2 << 20  # more than the 512 spans of an SDK's batch
_FIELD_1, _FIELD_2 = 0x0A, 0x12  # their tags


class Limits(NamedTuple):
    """What a request may have: the number of its parts, and the bytes that describe one resource and scope.

    ``repeated`` are the bytes that describe resources and scopes, counted once for each slice after the first.
    """

    resources: int = sys.maxsize
    scopes: int = sys.maxsize
    items: int = sys.maxsize
    description: int = sys.maxsize
    repeated: int = sys.maxsize


NO_LIMITS = Limits()


class Envelope(NamedTuple):
    """The resource and scope of spans in a request, with their schema URLs, serialised without their items."""

    resource: bytes
    scope: bytes


Group = tuple[Envelope, list[bytes]]
"""Raw items of one scope: all of them, or as many as go into a slice."""


class Structure:
    """A request whose structure was read. ``items`` is the number of its spans, log records or metrics."""

    def __init__(self, raw: bytes, limits: Limits = NO_LIMITS) -> None:
        """Raises DecodeError if ``raw`` is no request, TooLargeError beyond a limit."""
        self.raw, self.scopes, self.items = raw, 0, 0
        self._resources: list[_Resource] = []
        try:
            resources = _resources(raw, limits.resources)
            if len(resources) > limits.resources:
                raise _too_many(limits.resources, "resources")
            for part in resources:
                resource = (_ParsedResource if len(part) <= _LARGE else _WalkedResource)(part, limits)
                self.scopes += len(resource.scopes)
                self.items += resource.items
                if self.scopes > limits.scopes:
                    raise _too_many(limits.scopes, "scopes")
                if self.items > limits.items:
                    raise _too_many(limits.items, "spans, log records or metrics")
                self._resources.append(resource)
            # What fits into one slice repeats nothing.
            if self.scopes + self.items > _SLICE_ITEMS:
                self._check_repeated(limits.repeated)
        except (ProtobufError, ValueError) as error:
            raise DecodeError(f"the body is not an OTLP protobuf request: {error}") from None

    def _check_repeated(self, most: int) -> None:
        # The estimate first: it is enough for nearly all requests, and the exact sum visits every scope again.
        if sum([resource.repeated_at_most() for resource in self._resources]) <= most:
            return
        if sum([resource.repeated() for resource in self._resources]) <= most:
            return
        raise TooLargeError(
            f"resources and scopes may take at most {most >> 20} MiB, counted once for every {_SLICE_ITEMS} of their "
            "spans, log records or metrics; send smaller batches"
        )

    @property
    def cost(self) -> int:
        """How much work it is, in spans: a KiB counts as one, and so do a resource and a scope."""
        return len(self._resources) + self.scopes + self.items + (len(self.raw) >> 10)

    def slices(self) -> Iterator[list[Group]]:
        """Yield the groups of items in slices of up to about 600 items and 2 MiB; an item is never divided. Call it once."""
        groups: list[Group] = []
        parts = size = 0
        for resource in self._resources:
            for group, group_size in resource.groups():
                if groups and size + group_size > _SLICE_BYTES:
                    yield groups
                    groups, parts, size = [], 0, 0
                groups.append(group)
                parts += len(group[1]) + 1  # a scope without items takes its time, too
                size += group_size
                if parts > _SLICE_ITEMS:
                    yield groups
                    groups, parts, size = [], 0, 0
        if groups:
            yield groups


class _ParsedResource:
    """A small resource, as messages of protobuf: counting their items makes no objects of them."""

    def __init__(self, raw: bytes, limits: Limits) -> None:
        self._size, self._message = len(raw), schema.ResourceItems.FromString(raw)
        scopes = self._message.scopes
        if len(scopes) > limits.scopes:
            raise _too_many(limits.scopes, "scopes")
        self.scopes = list(map(schema.ScopeItems.FromString, scopes))
        self.items = sum([len(scope.items) for scope in self.scopes])

    def repeated_at_most(self) -> int:
        """Returns an upper limit of ``repeated``."""
        return self._size * ((self.items + len(self.scopes)) // _SLICE_ITEMS)

    def repeated(self) -> int:
        """Returns how many bytes of descriptions slices repeat."""
        scopes = self._message.scopes
        return (self._size - _encoded(scopes)) * ((self.items + len(scopes)) // _SLICE_ITEMS) + sum(
            (len(raw) - _encoded(scope.items)) * (len(scope.items) // _SLICE_ITEMS)
            for raw, scope in zip(scopes, self.scopes, strict=True)
        )

    def groups(self) -> Iterator[tuple[Group, int]]:
        """Yield groups with their size in bytes; the first has the size of all."""
        size = self._size
        # Cleared, not built anew, so that fields of newer OTLP versions stay in the description.
        self._message.ClearField("scopes")
        description = self._message.SerializeToString()
        for scope in self.scopes:
            items = list(scope.items)
            scope.ClearField("items")
            envelope = Envelope(description, scope.SerializeToString())
            yield (envelope, items[:_SLICE_ITEMS]), size
            size = 0
            for start in range(_SLICE_ITEMS, len(items), _SLICE_ITEMS):
                yield (envelope, items[start : start + _SLICE_ITEMS]), size


class _WalkedResource:
    """A large resource, as the positions of its parts."""

    def __init__(self, raw: bytes, limits: Limits) -> None:
        self._raw = raw
        self._description, scopes = split_message(raw, 0, len(raw), _FIELD_2, limits.scopes)
        self.scopes: list[tuple[bytes, list[int]]] = []
        self.items = 0
        for at, end in _pairs(scopes):
            scope, items = split_message(raw, at, end, _FIELD_2, limits.items)
            # Both leave with every slice: what they take is multiplied by the number of slices.
            if len(self._description) + len(scope) > limits.description:
                size = f"{limits.description >> 10} KiB"
                raise TooLargeError(f"a resource may have at most {size} of attributes, with those of a scope")
            self.scopes.append((scope, items))
            self.items += len(items) // 2

    def repeated_at_most(self) -> int:
        """Returns how many bytes of descriptions slices repeat."""
        return len(self._description) * ((self.items + len(self.scopes)) // _SLICE_ITEMS) + sum(
            len(scope) * (len(positions) // 2 // _SLICE_ITEMS) for scope, positions in self.scopes
        )

    def repeated(self) -> int:
        """Returns how many bytes of descriptions slices repeat."""
        return self.repeated_at_most()

    def groups(self) -> Iterator[tuple[Group, int]]:
        """Yield groups with their size in bytes."""
        for scope, positions in self.scopes:
            envelope, items, size = Envelope(self._description, scope), list[bytes](), 0
            for at, end in _pairs(positions):
                if items and (len(items) == _SLICE_ITEMS or size + end - at > _SLICE_BYTES):
                    yield (envelope, items), size
                    items, size = [], 0
                items.append(self._raw[at:end])
                size += end - at
            yield (envelope, items), size


_Resource = _ParsedResource | _WalkedResource


def _resources(raw: bytes, most: int) -> Sequence[bytes]:
    """Returns the resources of a request, or more than ``most`` of them."""
    if len(raw) <= _LARGE:
        resources: Sequence[bytes] = schema.Request.FromString(raw).resources
        return resources
    return [raw[at:end] for at, end in _pairs(split_message(raw, 0, len(raw), _FIELD_1, most)[1])]


def _encoded(parts: Sequence[bytes]) -> int:
    """Returns how many bytes the parts take in the message that contains them."""
    return sum([len(field_head(_FIELD_2, len(part))) + len(part) for part in parts])


def _pairs(positions: list[int]) -> Iterator[tuple[int, int]]:
    return zip(positions[::2], positions[1::2], strict=True)


def _too_many(most: int, what: str) -> TooLargeError:
    return TooLargeError(f"a request may have at most {most:,} {what}; send smaller batches")
