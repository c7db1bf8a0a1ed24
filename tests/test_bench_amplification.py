"""The table of what attacks cost: each attack that is measured is in it."""

from __future__ import annotations

from tests.bench.amplification import DOCUMENT, Cost, section
from tests.bench.attacks import ATTACKS


def test_the_document_lists_every_attack() -> None:
    _, _, rest = DOCUMENT.read_text().partition("<!-- amplification: ")
    rows = [
        line.split("|")[1].strip() for line in rest.partition("<!-- end of")[0].splitlines() if line.startswith("|")
    ]
    assert rows[2:] == list(ATTACKS)


def test_the_section_names_the_worst_accepted_requests() -> None:
    costs = [
        Cost("usual", 200, 1024, 2048, 0.001, 80), Cost("a", 200, 1024, 1 << 20, 1.0, 90), Cost("b", 200, 9000, 9000, 0.5, 90),
        Cost("refused", 413, 1024, 1024, 9.0, 90, 12.4, 0, "no end"),
    ]  # fmt: skip
    said = section(costs)
    assert said.startswith("At worst a KiB that is sent takes 1,000 ms (a)")
    assert "56.89 ms (b); ordinary traffic takes 1.0 ms and 0.50 ms." in said
    assert "Another\nsender waited up to 12 ms longer than when nothing else went on (refused)." in said
    assert "| refused | no end | 413 | 1.0 KiB | 1 KiB | 9.00 s | 9,000.0 | 9000.00 | 90 MiB | 12 ms | 0 |" in said
