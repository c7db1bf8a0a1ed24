"""Requests too large for one transaction of the spool: written in parts, a few at a time, and all of them or nothing.

Each part has a row of its own. The last one follows them at once, has the signal, and says how many they are: parts without it
count for nothing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from collector.storage.compression import compress
from collector.storage.rows import Change

PART_BYTES: Final = 1 << 20
_PART: Final = "part"  # in place of a signal
_OF: Final = "*"  # between the signal of the last row and the number of parts before it
_COUNT: Final = re.compile("[0-9]{1,9}")

Tell = Callable[[], None]
_Part = tuple[int, str, int, memoryview]
"""A row of the outbox, not compressed yet."""


class LargeRequests:
    """What of them is still to be written or to be deleted, and which rows are parts of which request."""

    def __init__(self, next_id: Callable[[], int]) -> None:
        self._next_id = next_id
        self._unwritten: deque[tuple[_Part, Callable[[int], None] | None]] = deque()  # and who is told of the last
        self._parts: dict[int, int] = {}  # how many rows before that of a request have parts of it
        self._of_no_use: deque[int] = deque()  # rows with parts of requests that are gone, still to be deleted

    def __bool__(self) -> bool:
        return bool(self._unwritten or self._of_no_use)

    def add(self, signal: str, items: int, payload: bytes, on_durable: Callable[[int], None]) -> int:
        """Divide a request. Returns how many rows it takes."""
        count = (len(payload) - 1) // PART_BYTES
        content = memoryview(payload)  # not copied here: that would take long, too
        for at in range(count):
            part = content[at * PART_BYTES : (at + 1) * PART_BYTES]
            self._unwritten.append(((self._next_id(), _PART, 0, part), None))
        row = self._next_id()
        self._unwritten.append(((row, f"{signal}{_OF}{count}", items, content[count * PART_BYTES :]), on_durable))
        self._parts[row] = count
        return count + 1

    def take(self, change: Change, room: int) -> tuple[int, list[Tell]]:
        """Add rows to a transaction with ``room`` for so many bytes, at least one. Returns their number and whom to tell."""
        tell, before = list[Tell](), len(self._unwritten)
        while self._unwritten and (len(self._unwritten) == before or room >= PART_BYTES):
            (row, mark, items, content), on_durable = self._unwritten.popleft()
            change.inserts["outbox"].append((row, mark, items, compress(content)))
            room -= len(content)
            if on_durable is not None:
                tell.append(_telling(on_durable, row))
        return before - len(self._unwritten), tell

    def take_deleted(self, change: Change, room: int) -> None:
        """Delete some of the parts that are of no use. All at once would take as long as to write them."""
        for _ in range(min(len(self._of_no_use), room // PART_BYTES)):
            change.deletes["outbox"].append(self._of_no_use.popleft())

    def rows_of(self, row: int) -> range:
        """Returns the rows of a request, the last of which is ``row``; of any other it is the only one."""
        return range(row - self._parts.get(row, 0), row + 1)

    def delete(self, rows: Iterable[int]) -> None:
        """Delete the parts of the requests among these, little by little."""
        if self._parts:
            self._of_no_use.extend(part for row in rows for part in range(row - self._parts.pop(row, 0), row))

    def read(self, rows: Iterable[tuple[int, str, int, int | None]]) -> Iterator[tuple[int, str, int, int | None]]:
        """Yield id, signal, items and bytes of each request in rows that were read back; bytes are None if any are missing."""
        parts = dict[int, int]()  # sizes, by row
        for row, mark, items, size in rows:
            if mark == _PART and size is not None:
                parts[row] = size
                continue
            signal, _, count = mark.partition(_OF)
            expected = int(count) if _COUNT.fullmatch(count) else 0
            if expected > len(parts):  # some are lost; what is left of them is deleted at the end
                yield row, signal, items, None
                continue
            found = [parts.pop(at, None) for at in range(row - expected, row)]
            if found:
                self._parts[row] = expected
            is_whole = size is not None and None not in found
            yield row, signal, items, (size or 0) + sum(part or 0 for part in found) if is_whole else None
        # Of requests that were not acknowledged, or were delivered: the row behind them is missing.
        self._of_no_use.extend(parts)


def _telling(on_durable: Callable[[int], None], row: int) -> Tell:
    return lambda: on_durable(row)
