"""Longest common subsequence of a plain sequence of tools and a plain sequence of calls, bit-parallel.

Hyyrö, "Bit-parallel LCS-length computation revisited" (2004): one row of the table is one integer, a bit for each
expected tool, so a row costs a handful of operations on integers whatever call and tool have in common.
"""

from __future__ import annotations

from collections.abc import Sequence


def longest_common_subsequence(length: int, fits: Sequence[int]) -> list[int | None]:
    """For each of the ``length`` positions the call that matches it, or None, in one longest common subsequence.

    ``fits[call]`` has a bit for each position the call fits. Of equally long ones always the same is taken.
    """
    # Before the first call every bit is one: no pair is possible at any position.
    full = (1 << length) - 1
    row, rows = full, []
    for mask in fits:
        hit = row & mask
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    # A zero bit marks a position at which one more pair is possible; the call whose row brought the zero made the pair.
    matched: list[int | None] = [None] * length
    call = len(rows)
    for position in range(length - 1, -1, -1):
        bit = 1 << position
        if call and not rows[call - 1] & bit:
            call -= 1
            while call and not rows[call - 1] & bit:
                call -= 1
            matched[position] = call
    return matched
