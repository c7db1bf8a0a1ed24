"""The tools' own log: what they received, whether they failed, what ran at once."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.record.scenarios import Answer, RequestedCall, Scenario, card_declined_once, get_weather, scenarios
from tests.record.truth import TruthLog, parallel_groups
from tests.waiting import PATIENCE


def test_a_watched_tool_looks_like_the_tool() -> None:
    watched = TruthLog().watch(get_weather)
    assert inspect.signature(watched) == inspect.signature(get_weather)
    assert (watched.__name__, watched.__doc__) == ("get_weather", get_weather.__doc__)


def test_arguments_are_those_received_and_those_requested() -> None:
    log, scenario = TruthLog(), scenarios()["multi"]
    weather = log.watch(get_weather)
    assert weather("London", unit="fahrenheit") == "London: 18 degrees fahrenheit"
    weather(city="Paris")
    first, second = log.truth(scenario, {"scenario": "multi"}, ["pytest"])["tool_calls"]
    assert first["arguments"] == first["model_arguments"] == {"city": "London", "unit": "fahrenheit"}
    assert second["arguments"] == {"city": "Paris", "unit": "celsius"}
    assert (second["model_arguments"], second["call_id"], second["seq"]) == ({"city": "Paris"}, "call_w1", 1)


def test_a_failure_is_logged_and_raised() -> None:
    log, scenario = TruthLog(), scenarios()["fail"]
    charge = log.watch(card_declined_once())
    with pytest.raises(Exception, match="card declined"):
        charge(42, 10.5)
    charge(42, 10.5)
    calls = log.truth(scenario, {}, [])["tool_calls"]
    assert [(call["error"], call["call_id"]) for call in calls] == [(True, "call_c1"), (False, "call_c2")]
    assert calls[0]["error_message"] == "card declined: try again"


def test_calls_that_meet_are_a_group() -> None:
    both = threading.Barrier(2)

    def meet(place: int) -> str:
        both.wait(PATIENCE)
        return str(place)

    log = TruthLog()
    watched = log.watch(meet)
    with ThreadPoolExecutor(2) as workers:
        assert sorted(workers.map(watched, [1, 2])) == ["1", "2"]
    answer = Answer((RequestedCall("a", "meet", {"place": 1}), RequestedCall("b", "meet", {"place": 2})))
    truth = log.truth(Scenario("meet", (answer, Answer(text="met")), (meet,)), {}, [])
    assert truth["parallel_groups"] == [[0, 1]]
    assert truth["final_output"] == "met"


def test_a_call_that_did_not_run_was_rejected() -> None:
    log, scenario = TruthLog(), scenarios()["approval"]
    log.watch(scenario.tools[0])(42, 10.5)
    truth = log.truth(scenario, {}, [])
    assert [call["call_id"] for call in truth["tool_calls"]] == ["call_r1"]
    assert [call["call_id"] for call in truth["rejected_calls"]] == ["call_x1"]
    assert "runs" not in truth


def test_a_renamed_tool_is_matched_with_the_requested_call() -> None:
    log, scenario = TruthLog("mcp_travel__"), scenarios("mcp_travel__")["multi"]
    log.watch(get_weather)("Paris")
    (call,) = log.truth(scenario, {}, [])["tool_calls"]
    assert (call["name"], call["reported_name"]) == ("get_weather", "mcp_travel__get_weather")
    assert call["call_id"] == "call_w1"


def test_the_turns_of_an_inner_agent_are_its_own() -> None:
    scenario = scenarios()["nested"]
    turns = TruthLog().truth(scenario, {}, [], runs=2)["model_turns"]
    names = {agent: [call["name"] for turn in own for call in turn["calls"]] for agent, own in turns.items()}
    assert names == {"main": ["ask_policy_agent", "send_mail"], "policy_agent": ["lookup_policy"]}


@pytest.mark.parametrize(
    ("times", "groups"),
    [
        ([(0, 10), (9, 20)], [[0, 1]]),
        ([(0, 10), (10, 20)], []),
        ([(0, 10)], []),
        ([(0, 30), (5, 10), (12, 20)], []),
    ],
)
def test_only_calls_that_overlap_are_a_group(times: list[tuple[int, int]], groups: list[list[int]]) -> None:
    calls: list[dict[str, Any]] = [{"start_ns": s, "end_ns": e, "call_id": str(at)} for at, (s, e) in enumerate(times)]
    answer = Answer([RequestedCall(str(at), "t", {}) for at in range(len(times))])
    assert parallel_groups(calls, [answer]) == groups
