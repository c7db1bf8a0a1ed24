"""The explanation: every edit with its cost, bounded and printable."""

from __future__ import annotations

import pytest

from scorers.conformance.explanation import MAX_EDITS, Edit, explain
from scorers.quoting import shorten

MISSING, EXTRA, BROKEN = Edit("missing", "a", 1), Edit("extra", "b", 1), Edit("broken", "max_calls 2", 1)


@pytest.mark.parametrize(
    ("value", "edits", "sizes", "matched", "sentence"),
    [
        (1.0, [], [4, 4], 4, "1.000 = 1 - 0/(4 + 4): 4 calls matched"),
        (1.0, [], [0, 0], 0, "1.000: nothing expected, nothing called"),
        (
            0.5,
            [MISSING, EXTRA],
            [2, 2],
            1,
            "0.500 = 1 - 2/(2 + 2): missing a (cost 1), extra b (cost 1); 1 call matched",
        ),
        (0.25, [EXTRA] * 3, [1, 3], 1, "0.250 = 1 - 3/(1 + 3): extra b x3 (cost 3); 1 call matched"),
        (0.0, [BROKEN], [0, 0, 1], 0, "0.000 = 1 - 1/(0 + 0 + 1): broken max_calls 2 (cost 1); 0 calls matched"),
    ],
)
def test_explanations(value: float, edits: list[Edit], sizes: list[int], matched: int, sentence: str) -> None:
    assert explain(value, edits, sizes, matched) == f"score {sentence}"


def test_an_explanation_lists_a_bounded_number_of_edits_and_their_total() -> None:
    edits = [Edit("extra", f"tool_{at}", 1) for at in range(1_000)]

    sentence = explain(0.0, edits, [0, 1_000], 0)

    assert sentence.count("extra tool_") == MAX_EDITS
    assert sentence.endswith(f"{1_000 - MAX_EDITS} more kinds (cost {1_000 - MAX_EDITS}); 0 calls matched")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("get_weather", "get_weather"),
        ("wetter_für", "wetter_für"),
        ("a\nb", "a\\nb"),
        ("\ud800", "\\ud800"),
        ("\x1b[31m", "\\x1b[31m"),
        ("x" * 100, "x" * 59 + "…"),
    ],
)
def test_names_are_shortened_and_escaped(name: str, shown: str) -> None:
    assert shorten(name) == shown
    assert shorten(name).encode("utf-8")
