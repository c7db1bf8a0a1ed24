"""Longest common subsequence of a plain sequence of tools and a plain sequence of calls, bit-parallel.

Hyyrö, "Bit-parallel LCS-length computation revisited" (2004): one row of the table is one integer, a bit for each
expected tool, so a row costs a handful of operations on integers whatever call and tool have in common.
"""

from __future__ import annotations

from collections.abc import Sequence


def longest_common_subsequence(length: int, fits: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs (position in the sequence, call) of one longest common subsequence, in order.

    ``fits[call]`` has a bit for each of the ``length`` positions the call fits. Of equally long ones, the same always.
    """
    full = (1 << length) - 1
    row, rows = full, []
    for mask in fits:
        hit = row & mask
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    # A zero bit marks a position at which one more pair is possible; the row in which it appeared made the pair.
    pairs = []
    call = len(rows)
    for position in range(length - 1, -1, -1):
        bit = 1 << position
        if call and not rows[call - 1] & bit:
            call -= 1
            while call and not rows[call - 1] & bit:
                call -= 1
            pairs.append((position, call))
    pairs.reverse()
    return pairs
