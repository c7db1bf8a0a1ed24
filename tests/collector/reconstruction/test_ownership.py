"""Calls whose place in the trace does not tell whose they are: their caller left no span, or the agent lies beside them."""

from __future__ import annotations

import pytest

from collector.model.span import Resource, Span
from collector.reconstruction.joined_runs import join_runs
from collector.reconstruction.ownership import MAX_OWNERS_COMPARED
from tests.builders import agent_span, called, doubts, model_span, run_of, runs_of, span, span_id, tool_span

TOOLS = Resource({"service.name": "tools"})
FRONT = span("POST /chat", 1, lasting=1000, kind=2, attributes={"http.route": "/chat"})
AGENT = [agent_span("support", 2, 1, at=1, lasting=900), tool_span("look", number=3, parent=2, at=10)]
CLIENT = span("POST", 4, 2, at=49, lasting=40, kind=3)
ENTRY = span("POST /tool", 5, 4, at=50, lasting=30, kind=2, remote=True, resource=TOOLS)


def refund(parent: int = 5, number: int = 6) -> Span:
    """The call as the process of the tools records it."""
    return tool_span("refund", number=number, parent=parent, at=52, remote=parent == 4, resource=TOOLS)


@pytest.mark.parametrize("served", [[ENTRY, refund()], [refund(4)]], ids=["below a server span", "alone"])
def test_a_call_whose_caller_in_another_process_left_no_span_may_be_the_agents(served: list[Span]) -> None:
    run = run_of(FRONT, *AGENT, *served)
    assert (called(run), doubts(run)) == (["look", "refund"], ["uncertain_owner"])
    run = run_of(FRONT, *AGENT, CLIENT, *served)
    assert (called(run), doubts(run)) == (["look", "refund"], [])


def test_what_a_served_tool_calls_and_asks_a_model_is_in_doubt_with_it() -> None:
    inside = [model_span([("c1", "charge", {})], 7, 6, at=53, lasting=2, resource=TOOLS)]
    inside.append(tool_span("charge", {}, 8, 6, at=56, lasting=2, call_id="c1", resource=TOOLS))
    run = run_of(FRONT, *AGENT, ENTRY, refund(), *inside)
    assert (called(run), doubts(run)) == (["look", "refund", "charge"], ["uncertain_owner", "uncertain_owner"])


def test_a_call_of_a_tool_that_leaves_a_span_in_the_run_is_recorded_there() -> None:
    own = tool_span("refund", {"order": 7}, 9, 2, at=40, lasting=60)
    run = run_of(FRONT, *AGENT, own, ENTRY, refund())
    assert (called(run), doubts(run)) == (["look", "refund"], [])


def test_a_model_that_asked_for_the_call_settles_whose_it_is() -> None:
    asked = model_span([("c1", "look", {}), ("c2", "refund", {})], 7, 2, at=2, lasting=5)
    run = run_of(FRONT, *AGENT, asked, ENTRY, refund())
    assert (called(run), doubts(run)) == (["look", "refund"], [])


def test_a_call_that_any_of_several_agents_may_have_made_is_one_of_the_trace() -> None:
    runs = runs_of(FRONT, *AGENT, agent_span("billing", 8, 1, at=20, lasting=500), ENTRY, refund())
    assert [(run.agent, called(run)) for run in runs] == [("support", ["look", "refund"]), ("billing", ["refund"])]
    assert [doubts(run) for run in runs] == [["uncertain_owner"], ["uncertain_owner"]]
    trajectory, spans = join_runs(runs, 0)
    assert ([call.name for call in trajectory.calls], spans) == (["look", "refund"], (span_id(3), span_id(6)))
    assert trajectory.doubts == []


@pytest.mark.parametrize(
    ("at", "expected"),
    [(1_520, [[], ["uncertain_owner"]]), (9_000, [["uncertain_owner"], ["uncertain_owner"]])],
    ids=["during the second turn", "by a wrong clock"],
)
def test_of_the_turns_of_a_session_that_which_was_under_way_may_be_the_callers(
    at: float, expected: list[list[str]]
) -> None:
    session = span("session", 1, lasting=5_000)
    first = [agent_span("one", 2, 1, at=1, lasting=900), tool_span("look", number=3, parent=2, at=10)]
    second = [agent_span("two", 7, 1, at=1_500, lasting=900), tool_span("look", number=8, parent=7, at=1_510)]
    served = tool_span("refund", number=6, parent=4, at=at, remote=True, resource=TOOLS)
    assert [doubts(run) for run in runs_of(session, *first, *second, served)] == expected


@pytest.mark.parametrize(
    "others",
    [
        [span("GET /user", 4, 1, at=5, kind=3), ENTRY, refund()],  # the caller, who is no agent, left its span
        [ENTRY, refund(), model_span([(None, "refund", {})], 7, 5, at=51, lasting=1, resource=TOOLS)],
    ],
    ids=["called by no agent", "asks a model itself"],
)
def test_a_process_that_no_agent_called_or_that_decides_itself_has_a_run(others: list[Span]) -> None:
    agent, rest = runs_of(FRONT, *AGENT, *others)
    assert [(called(run), "uncertain_owner" in doubts(run)) for run in (agent, rest)] == [
        (["look"], False),
        (["refund"], False),
    ]


def test_what_called_the_agent_as_well_is_no_agent_of_the_trace() -> None:
    """A front end that sends no spans."""
    entry = span("POST /chat", 1, 4, lasting=1000, kind=2, remote=True)
    agent, rest = runs_of(entry, *AGENT, ENTRY, refund())
    assert [called(agent), called(rest)] == [["look"], ["refund"]]


def test_without_an_agent_in_the_trace_the_calls_are_a_run_of_the_process() -> None:
    run = run_of(ENTRY, refund())
    assert (run.span_id, called(run), doubts(run)) == (span_id(5), ["refund"], ["missing_remote_parent"])


def test_more_pairs_of_runs_and_calls_than_are_compared_leave_each_run_open() -> None:
    agents = [agent_span(f"agent {number}", number, 1, at=1, lasting=900) for number in range(1_000, 1_320)]
    calls = [
        tool_span("refund", None, number, number + 1_000, at=50, remote=True, resource=TOOLS)
        for number in range(2_000, 2_320)
    ]
    *runs, rest = runs_of(FRONT, *agents, *calls)
    assert len(agents) * len(calls) > MAX_OWNERS_COMPARED
    assert ["unrecorded_calls" in doubts(run) for run in runs] == [True] * len(agents)
    assert len(called(rest)) == len(calls)


# As the official instrumentation has a team of Agno 3.1 that streams.
BOSS = agent_span("boss")
DELEGATE = tool_span("delegate_task_to_member", {"member_id": "weather"}, 2, at=100, lasting=500)
MEMBER = agent_span("weather", 3, 2, at=105, lasting=290)
ASKED = model_span([("c1", "get_weather", {})], 4, 2, at=150, lasting=20)
BESIDE = tool_span("get_weather", {}, 5, 2, at=200, lasting=10, call_id="c1")


def seen(*spans: Span) -> list[tuple[str | None, list[str], list[str]]]:
    return [(run.agent, called(run), doubts(run)) for run in runs_of(*spans)]


@pytest.mark.parametrize("asked", [[], [ASKED]], ids=["no requests to models", "with its request"])
def test_what_lies_beside_an_agent_that_did_nothing_is_its_own(asked: list[Span]) -> None:
    runs = seen(BOSS, DELEGATE, MEMBER, *asked, BESIDE)
    assert runs == [("boss", ["delegate_task_to_member"], []), ("weather", ["get_weather"], [])]


def test_what_lies_beside_an_agent_that_was_not_under_way_is_its_callers() -> None:
    later = tool_span("get_weather", {}, 5, 2, at=400, lasting=10)
    boss, member = seen(BOSS, DELEGATE, MEMBER, later)
    assert (boss[1], member[1:]) == (["delegate_task_to_member", "get_weather"], ([], ["nothing_recorded"]))


def test_what_lies_beside_an_agent_with_calls_of_its_own_is_its_callers() -> None:
    boss, member = seen(BOSS, DELEGATE, MEMBER, tool_span("look", {}, 6, 3, at=120, lasting=10), BESIDE)
    assert (boss[1], member[1]) == (["delegate_task_to_member", "get_weather"], ["look"])


def test_what_lies_beside_several_agents_may_be_that_of_each() -> None:
    runs = seen(BOSS, DELEGATE, MEMBER, agent_span("hotels", 6, 2, at=110, lasting=280), BESIDE)
    assert runs == [
        ("boss", ["delegate_task_to_member"], []),
        ("weather", ["get_weather"], ["uncertain_owner"]),
        ("hotels", ["get_weather"], ["uncertain_owner"]),
    ]


def test_more_agents_and_calls_beside_them_than_are_compared_leave_their_caller_open() -> None:
    members = [agent_span("weather", number, 2, at=105, lasting=290) for number in range(1_000, 1_320)]
    calls = [tool_span("get_weather", {}, number, 2, at=200, lasting=10) for number in range(2_000, 2_320)]
    boss, *_ = seen(BOSS, DELEGATE, *members, *calls)
    assert "unrecorded_calls" in boss[2]
