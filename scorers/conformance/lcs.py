"""Longest common subsequence of a plain sequence of tools and a plain sequence of calls, bit-parallel.

Hyyrö, "Bit-parallel LCS-length computation revisited" (2004): one row of the table is one integer with a bit for each
expected tool, so a row costs a few integer operations.
"""

from __future__ import annotations

from collections.abc import Sequence


def longest_common_subsequence(length: int, fits: Sequence[int]) -> list[int | None]:
    """Returns, for each of the ``length`` positions, the call that matches it in a longest common subsequence, or None.

    ``fits[call]`` has a bit for each position the call fits. Among equally long subsequences the choice is deterministic.
    """
    # Before the first call every bit is one: no position can be matched.
    full = (1 << length) - 1
    row, rows = full, []
    for mask in fits:
        hit = row & mask
        # The carry of the sum runs over a block of ones up to its end: that moves the zero of a block to its first
        # hit, for all blocks at once.
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    # A zero bit is a position where the subsequence grows by one; the call whose row cleared the bit is its match.
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
