"""Rules that are loaded while traces and conversations are open: what was not read for them before is read, or is in doubt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.scoring.rule_files import load_rules
from collector.scoring.verdict import Verdict
from tests import otlp_data as data
from tests.harness import Bench, Life

BEFORE = """
rules:
  - {name: all, match: {}, expect: {sequence: [get_weather]}}
"""
AFTER = """
rules:
  - {name: gold, match: {attributes: {customer.tier: gold}}, expect: {sequence: [get_weather, send_email]}}
  - {name: all, match: {}, expect: {sequence: [get_weather]}}
"""
TALKS = """
rules:
  - {name: all, scope: conversation, match: {}, expect: {sequence: [look_up, refund]}}
"""
GOLD_TALKS = """
rules:
  - {name: gold, scope: conversation, match: {attributes: {customer.tier: gold}}, expect: {max_calls: 1}}
  - {name: all, scope: conversation, match: {}, expect: {sequence: [look_up, refund]}}
"""
REFUND_TALKS = """
intents:
  - {name: refund, keywords: ["money back"]}
rules:
  - {name: refund, scope: conversation, match: {intent: refund}, expect: {max_calls: 1}}
  - {name: all, scope: conversation, match: {}, expect: {sequence: [look_up, refund]}}
"""
LATE, WHOLE, EARLY = 7, 3, 0.25  # seconds


def reload(bench: Bench | Life, folder: Path, rules: str) -> None:
    (folder / "reloaded.yaml").write_text(rules)
    bench.pipeline.set_rules(load_rules([folder / "reloaded.yaml"]))


def said(verdicts: list[Verdict]) -> list[tuple[str | None, str, tuple[str, ...]]]:
    return [(verdict.rule, verdict.label, verdict.doubts) for verdict in verdicts]


GOLD_RUN = [data.tool(2, 1, "get_weather", 0.1), data.agent(1, customer__tier="gold")]
PLAIN_RUN = [data.tool(2, 1, "get_weather", 0.1), data.agent(1)]
UNKNOWN = [(None, "", ("unknown_route",))]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, BEFORE)


@pytest.mark.parametrize("quiet", [0.25, 11.0], ids=["open", "packed"])
def test_attributes_of_open_runs_are_read_for_new_rules(bench: Bench, tmp_path: Path, quiet: float) -> None:
    if quiet > 1:  # its root has not come, so that it waits
        bench.send(*[data.span(9, 8)], *GOLD_RUN[:1], data.agent(1, 9, customer__tier="gold"))
    else:
        bench.send(*GOLD_RUN)
    bench.wait(quiet)
    reload(bench, tmp_path, AFTER)
    bench.wait(EARLY)
    if quiet > 1:
        bench.send(data.span(8, http__route="/chat"))
    bench.wait(WHOLE)

    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("gold", "fail")]


def test_open_runs_without_the_attribute_have_the_rule_for_all(bench: Bench, tmp_path: Path) -> None:
    bench.send(*PLAIN_RUN)
    reload(bench, tmp_path, AFTER)
    bench.wait(WHOLE)

    assert said(bench.verdicts) == [("all", "pass", ())]


def test_a_large_run_is_read_anew_too(bench: Bench, tmp_path: Path) -> None:
    tools = [data.tool(10 + at, 1, "get_weather", 0.1 * at) for at in range(250)]
    bench.send(*tools, data.agent(1, customer__tier="gold"))
    reload(bench, tmp_path, AFTER)
    bench.wait(5)

    assert [verdict.rule for verdict in bench.verdicts] == ["gold"]


def test_the_rule_of_a_finished_run_is_unknown_where_its_attributes_were_not_read(bench: Bench, tmp_path: Path) -> None:
    bench.send(*GOLD_RUN)
    bench.wait(WHOLE)
    reload(bench, tmp_path, AFTER)
    bench.send(data.tool(3, 1, "send_email", 0.2))
    bench.wait(LATE)

    assert said(bench.verdicts) == [("all", "pass", ()), *UNKNOWN]
    assert bench.verdicts[1].unscored_reason == "unknown_route"


def test_what_was_read_of_a_finished_run_still_selects_its_rule(tmp_path: Path) -> None:
    bench = Bench(tmp_path, AFTER)
    bench.send(*GOLD_RUN)
    bench.wait(WHOLE)
    reload(bench, tmp_path, AFTER.replace("name: gold", "name: precious"))
    bench.send(data.tool(3, 1, "send_email", 0.2))
    bench.wait(LATE)

    assert [(verdict.rule, verdict.label) for verdict in bench.verdicts] == [("gold", "fail"), ("precious", "pass")]


@pytest.mark.parametrize("is_before", [False, True], ids=["after", "before"])
def test_a_root_that_came_before_the_rules_may_have_had_the_attribute(
    bench: Bench, tmp_path: Path, is_before: bool
) -> None:
    """It stands for the agent, and left when it came."""
    root = data.span(1, customer__tier="gold")
    if is_before:
        bench.send(root)
    reload(bench, tmp_path, AFTER)
    bench.send(data.tool(2, 1, "get_weather", 0.1), *([] if is_before else [root]))
    bench.wait(40)

    assert [verdict.rule for verdict in bench.verdicts] == [None if is_before else "gold"]


def test_a_request_that_is_read_while_rules_are_loaded_is_read_anew(bench: Bench, tmp_path: Path) -> None:
    from collector.otlp.structure import Structure  # noqa: PLC0415

    steps = bench.pipeline.receive_in_steps("traces", Structure(data.traces(*GOLD_RUN).SerializeToString()), "grpc")
    next(steps)
    next(steps)  # the spans are read
    reload(bench, tmp_path, AFTER)
    for _ in steps:
        pass
    bench.wait(WHOLE)

    assert [verdict.rule for verdict in bench.verdicts] == ["gold"]


def turn(number: int, tool: str, **values: Any) -> list[Any]:
    trace_id, at = number.to_bytes(16, "big"), 60.0 * number
    agent = data.agent(1, at=at, trace_id=trace_id, gen_ai__conversation__id="c-1", **values)
    return [data.tool(2, 1, tool, at + 0.1, trace_id), agent]


def conversations(bench: Bench) -> list[tuple[str | None, str]]:
    return [(verdict.rule, verdict.label) for verdict in bench.verdicts if verdict.scope == "conversation"]


def talk(bench: Bench, *turns: list[Any]) -> None:
    for spans in turns:
        bench.send(*spans)
        bench.wait(60)


def test_a_conversation_has_no_verdict_by_rules_for_which_its_runs_were_not_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TALKS)
    talk(bench, turn(1, "look_up", customer__tier="gold"))
    reload(bench, tmp_path, GOLD_TALKS)
    talk(bench, turn(2, "refund", customer__tier="gold"))
    bench.wait(400)

    assert conversations(bench) == []


@pytest.mark.parametrize("rules", [TALKS, GOLD_TALKS], ids=["the same", "none of attributes"])
def test_a_conversation_has_its_verdict_by_rules_that_ask_for_nothing_new(tmp_path: Path, rules: str) -> None:
    bench = Bench(tmp_path, rules)
    talk(bench, turn(1, "look_up"))
    reload(bench, tmp_path, TALKS)
    talk(bench, turn(2, "refund"))
    bench.wait(400)

    assert conversations(bench) == [("all", "pass")]


def test_the_intent_of_a_conversation_is_that_of_the_rules_in_force(tmp_path: Path) -> None:
    asked = {"gen_ai__input__messages": '[{"role":"user","parts":[{"type":"text","content":"I want my money back"}]}]'}
    bench = Bench(tmp_path, REFUND_TALKS)
    talk(bench, turn(1, "look_up", **asked))
    reload(bench, tmp_path, REFUND_TALKS.replace(": refund", ": repay"))
    talk(bench, turn(2, "refund", **asked))
    bench.wait(400)

    assert conversations(bench) == [("repay", "fail")]


def test_the_intent_is_unknown_where_the_words_were_not_read(tmp_path: Path) -> None:
    asked = {"gen_ai__input__messages": '[{"role":"user","parts":[{"type":"text","content":"I want my money back"}]}]'}
    bench = Bench(tmp_path, TALKS)
    talk(bench, turn(1, "look_up", **asked))
    reload(bench, tmp_path, REFUND_TALKS)
    talk(bench, turn(2, "refund", **asked))
    bench.wait(400)

    assert conversations(bench) == []
