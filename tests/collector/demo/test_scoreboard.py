"""The scoreboard counts verdicts and shows recent ones."""

from __future__ import annotations

from rich.console import Console

from collector.demo.scoreboard import Scoreboard
from tests.collector.verdicts import verdict_of


def shown(board: Scoreboard) -> str:
    console = Console(width=160)
    with console.capture() as captured:
        console.print(board.render())
    return captured.get()


def test_accuracy_excludes_verdicts_that_are_neither_pass_nor_fail() -> None:
    board = Scoreboard()
    board.addresses = ("metrics: http://here/metrics",)
    verdicts = [verdict_of("a", outcomes=("matched",))] * 3 + [
        verdict_of(label="fail", value=0.0),
        verdict_of(label="incomplete"),
    ]
    for verdict in verdicts:
        board.add(verdict)
    text = shown(board)
    row = next(line for line in text.splitlines() if "weather" in line and "75.0%" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == ["weather", "5", "3", "1", "1", "75.0%"]
    assert "http://here/metrics" in text
    assert "3 matched" in text


def test_it_shows_only_recent_runs() -> None:
    board = Scoreboard()
    for number in range(30):
        board.add(verdict_of(run={"agent": f"agent-{number}"}))
    text = shown(board)
    assert "agent-29" in text
    assert "agent-0 " not in text
