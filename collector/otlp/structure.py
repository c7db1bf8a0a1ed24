"""The structure of a request: its resources, scopes and items, counted and limited before an object is made of any item.

The three levels are the same for traces, logs and metrics. Protobuf would copy the bytes at each level, and take eight times
the memory of a request of empty items. So they are walked field by field, as far as the first limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from collector.errors import DecodeError, TooLargeError
from collector.otlp.tags import ITEM, RESOURCE
from collector.otlp.wire import item_head, split_message

_LARGE: Final = 1 << 20  # bytes of a resource
_SLICE_ITEMS: Final = 600  # more than the 512 spans of an SDK's batch
_LARGE_ITEM: Final = 4 << 10  # bytes, of items that are not copied to be searched
_SLICE_BYTES: Final = 2 << 20


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


class Items:
    """Raw items of one scope, where they are in ``raw``: most leave as they came, and are never cut out of it.

    ``positions`` has start and end of each: start, end, start, end, ...
    """

    def __init__(self, raw: bytes, positions: list[int]) -> None:
        self.raw, self.positions = raw, positions

    def __len__(self) -> int:
        return len(self.positions) // 2

    def __getitem__(self, index: int) -> bytes:
        return self.raw[self.positions[2 * index] : self.positions[2 * index + 1]]

    def __iter__(self) -> Iterator[bytes]:
        for index in range(len(self)):
            yield self[index]

    @property
    def are_large(self) -> bool:
        """Whether they have many bytes each, on average."""
        return len(self) > 0 and self.positions[-1] - self.positions[0] > _LARGE_ITEM * len(self)

    def place(self, index: int) -> tuple[int, int]:
        """Returns where one item begins and ends in ``raw``."""
        return self.positions[2 * index], self.positions[2 * index + 1]

    def size(self, index: int) -> int:
        """Returns the bytes of one item."""
        return self.positions[2 * index + 1] - self.positions[2 * index]

    def pieces(self, indexes: Sequence[int]) -> list[bytes]:
        """Returns the bytes of these items, which are in order: of those next to one another with what is between them."""
        raw, positions, found = self.raw, self.positions, list[bytes]()
        start = stop = expected = -1
        for index in indexes:
            if index != expected:
                if start >= 0:
                    found.append(raw[start:stop])
                start = positions[2 * index]
            stop, expected = positions[2 * index + 1], index + 1
        if start >= 0:
            found.append(raw[start:stop])
        return found

    def fields_without(self, left_out: set[int]) -> list[bytes]:
        """Returns all other items as fields of a scope, head by head and item by item: together where they came together."""
        raw, positions, found = self.raw, self.positions, list[bytes]()
        start = stop = -1
        for index in range(len(self)):
            if index in left_out:
                continue
            at, end = positions[2 * index], positions[2 * index + 1]
            head = item_head(end - at)
            # Between two items that are next to one another there is room for the second one's head alone.
            if start < 0 or at - stop != len(head):
                if start >= 0:
                    found.append(raw[start:stop])
                found.append(head)
                start = at
            stop = end
        if start >= 0:
            found.append(raw[start:stop])
        return found


Group = tuple[Envelope, Items]
"""Raw items of one scope: all of them, or as many as go into a slice."""


class Structure:
    """A request whose structure was read. ``items`` is the number of its spans, log records or metrics."""

    def __init__(self, raw: bytes, limits: Limits = NO_LIMITS) -> None:
        """Raises DecodeError if ``raw`` is no request, TooLargeError beyond a limit."""
        self.raw, self.scopes, self.items = raw, 0, 0
        self._resources: list[_Resource] = []
        try:
            _, resources = split_message(raw, 0, len(raw), RESOURCE, limits.resources)
            if len(resources) // 2 > limits.resources:
                raise _too_many(limits.resources, "resources")
            for at, end in _pairs(resources):
                resource = _Resource(raw, at, end, limits)
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
        except ValueError as error:
            raise DecodeError(f"the body is not an OTLP protobuf request: {error}") from None

    def _check_repeated(self, most: int) -> None:
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


class _Resource:
    """A resource of a request, as the positions of its parts."""

    def __init__(self, raw: bytes, at: int, end: int, limits: Limits) -> None:
        self._raw = raw
        self._description, scopes = split_message(raw, at, end, ITEM, limits.scopes)
        is_large = end - at > _LARGE
        self.scopes: list[tuple[bytes, list[int]]] = []
        self.items = 0
        for start, stop in _pairs(scopes):
            scope, items = split_message(raw, start, stop, ITEM, limits.items)
            # Both leave with every slice: what they take is multiplied by the number of slices.
            if is_large and len(self._description) + len(scope) > limits.description:
                size = f"{limits.description >> 10} KiB"
                raise TooLargeError(f"a resource may have at most {size} of attributes, with those of a scope")
            self.scopes.append((scope, items))
            self.items += len(items) // 2

    def repeated(self) -> int:
        """Returns how many bytes of descriptions slices repeat, at most."""
        return len(self._description) * ((self.items + len(self.scopes)) // _SLICE_ITEMS) + sum(
            len(scope) * (len(positions) // 2 // _SLICE_ITEMS) for scope, positions in self.scopes
        )

    def groups(self) -> Iterator[tuple[Group, int]]:
        """Yield groups with their size in bytes."""
        for scope, positions in self.scopes:
            envelope, first, size = Envelope(self._description, scope), 0, len(self._description) + len(scope)
            for index in range(0, len(positions), 2):
                length = positions[index + 1] - positions[index]
                if index > first and (index - first == 2 * _SLICE_ITEMS or size + length > _SLICE_BYTES):
                    yield (envelope, Items(self._raw, positions[first:index])), size
                    first, size = index, 0
                size += length
            yield (envelope, Items(self._raw, positions[first:] if first else positions)), size


def _pairs(positions: list[int]) -> Iterator[tuple[int, int]]:
    return zip(positions[::2], positions[1::2], strict=True)


def _too_many(most: int, what: str) -> TooLargeError:
    return TooLargeError(f"a request may have at most {most:,} {what}; send smaller batches")
