"""The scoreboard counts verdicts and shows recent ones."""

from __future__ import annotations

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from collector.demo.quality import PHASES, phase_at
from collector.demo.scoreboard import Scoreboard
from scorers import ToolCall, Trajectory, load_rules
from tests.collector.verdicts import evaluation, verdict_of
from tests.strategies import hostile_text


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


def test_it_shows_what_most_fails_have_in_common() -> None:
    (rule,) = load_rules({"rules": [{"name": "trip", "match": {}, "expect": {"sequence": ["search", "book"]}}]}).rules
    board = Scoreboard()
    for called in (["search"], ["search"], ["search", "book", "cancel"], ["search", "book"]):
        trajectory = Trajectory([ToolCall(name, step=at) for at, name in enumerate(called)])
        run = {"trajectory": trajectory, "call_span_ids": (None,) * len(called)}
        board.add(verdict_of(rule="trip", evaluations=rule.evaluate(trajectory), compiled_rule=rule, run=run))
    assert "top reasons: 2 missing book, 1 extra cancel\n" in shown(board)


def test_it_shows_accuracy_over_time_and_the_reasons_of_the_phase() -> None:
    (rule,) = load_rules({"rules": [{"name": "trip", "match": {}, "expect": {"sequence": ["search", "book"]}}]}).rules
    board = Scoreboard()
    for second, (called, phase) in enumerate(
        [(["search", "book"], "good")] * 4 + [(["search"], "bad")] * 4 + [(["search", "book"], "good")] * 2
    ):
        trajectory = Trajectory([ToolCall(name, step=at) for at, name in enumerate(called)])
        run = {"trajectory": trajectory, "call_span_ids": (None,) * len(called)}
        verdict = verdict_of(rule="trip", evaluations=rule.evaluate(trajectory), compiled_rule=rule, run=run)
        board.add(verdict, second, phase)
        if second == 7:
            assert "now: bad" in shown(board)
            assert "top reasons: 4 missing book" in shown(board)
    text = shown(board)
    assert "accuracy over time: █▁█ (4 s each)" in text
    assert "now: good" in text
    assert "top reasons: none yet" in text
    assert [line.split() for line in text.splitlines() if line.startswith("  - ")] == [["-", "book", "missing"]]
    assert "rightcall record" in text


def test_the_model_gets_worse_and_better_and_worse_again() -> None:
    cycle = sum(phase.seconds for phase in PHASES)
    assert [phase_at(at).faulty for at in (0, 19, 20, 39.9, 40, 59, cycle + 21)] == [
        0.05,
        0.05,
        0.5,
        0.5,
        0.05,
        0.05,
        0.5,
    ]


def test_it_shows_only_recent_runs() -> None:
    board = Scoreboard()
    for number in range(30):
        board.add(verdict_of(run={"agent": f"agent-{number}"}))
    text = shown(board)
    assert "agent-29" in text
    assert "agent-0 " not in text


@given(hostile_text | st.sampled_from(["[/x]", "[red]a[/red]", "[link=http://evil]a", "\x1b]0;title\x07"]))
def test_it_shows_what_agents_are_called_and_obeys_nothing(name: str) -> None:
    board = Scoreboard()
    board.add(
        verdict_of(rule=name or "rule", run={"agent": name}, evaluations=[evaluation("fail", 0.0, explanation=name)])
    )
    text = shown(board)
    assert not {one for one in text if category(one) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}} - {"\n"}


def test_markup_is_text() -> None:
    board = Scoreboard()
    board.add(verdict_of(rule="[red]a[/red]", run={"agent": "[/x]"}))
    assert shown(board).count("[red]a[/red]") == 2
    assert "[/x]" in shown(board)


def test_a_run_that_could_not_be_scored_has_no_rule() -> None:
    board = Scoreboard()
    board.add(verdict_of(rule=None, evaluations=[evaluation("error", None)]))
    assert "no rule" in shown(board)
