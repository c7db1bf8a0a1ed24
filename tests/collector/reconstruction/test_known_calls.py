"""Messages prove whose calls are whose: by ids, never by the absence of one."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.genai_span import Role
from collector.model.span import Span
from collector.reconstruction.drafts import RunSpans
from collector.reconstruction.executions import merged_execution
from collector.reconstruction.known_calls import CallIds, KnownCalls, Owners
from collector.reconstruction.requested_calls import MAX_CANDIDATES, RequestedCall, requested_calls
from tests.builders import agent_span, genai_spans, model_span, result, tool_span


def run(*spans: Span, parent: RunSpans | None = None) -> RunSpans:
    """A run of these spans, each execution alone."""
    found = RunSpans(None, b"", parent)
    for one in genai_spans(spans):
        if one.role is Role.AGENT:
            found.anchor = one
        elif one.role is Role.TOOL:
            found.executions.append([one])
        else:
            found.models.append(one)
    return found


def requests(*ids: str | None, name: str = "pay") -> RunSpans:
    """A run whose model requested calls of these ids."""
    return run(model_span([(call_id, name, {}) for call_id in ids]))


def executes(*ids: str, name: str = "pay", arguments: dict[str, Any] | None = None) -> RunSpans:
    """A run that executed calls of these ids."""
    return run(*(tool_span(name, arguments, number, call_id=call_id) for number, call_id in enumerate(ids, 10)))


def told(*ids: str) -> RunSpans:
    """A run whose model was told the results of calls of these ids."""
    return run(model_span(input_messages=exchange(*ids)))


def exchange(*ids: str) -> list[dict[str, Any]]:
    """Messages that request these calls and tell their results."""
    parts = [{"type": "tool_call", "id": call_id, "name": "pay", "arguments": {}} for call_id in ids]
    return [{"role": "assistant", "parts": parts}, *(result(call_id, "ok") for call_id in ids)]


def request_of(run_: RunSpans) -> RequestedCall:
    (request,) = requested_calls(run_.models)
    return request


def is_of_another(own: RunSpans, *others: RunSpans) -> bool:
    """Whether the call that a run was told of is one of these others."""
    return not KnownCalls([*others, own]).without_others([request_of(own)], own)


def test_the_ids_of_a_run_are_those_it_requested_executed_or_was_told_of() -> None:
    ids = CallIds(requests("a", "b"), executes("c"), told("d"))
    assert (set(ids.requested), ids.known) == ({"a", "b"}, {"c", "d"})


def test_calls_without_an_id_prove_nothing() -> None:
    one, other = CallIds(requests(None)), CallIds(executes(""), requests(None))
    assert (one.requested, other.known) == ({}, set())
    assert not one.match(other)
    assert not CallIds().match(CallIds())


@pytest.mark.parametrize(
    ("other", "matches"),
    [
        (executes("a"), True),
        (told("a"), True),
        (executes("b"), False),
        (requests("a"), False),  # both may have taken the id by chance: neither was told of the other's
    ],
)
def test_two_match_where_one_requested_what_the_other_knows(other: RunSpans, matches: bool) -> None:
    one = CallIds(requests("a"))
    assert one.match(CallIds(other)) is matches
    assert CallIds(other).match(one) is matches


@pytest.mark.parametrize(("name", "is_proof"), [("pay", True), ("search", False)])
def test_an_id_that_both_requested_is_no_proof_where_it_is_of_two_calls(name: str, is_proof: bool) -> None:
    """Some providers number the calls of each answer: `call_0`."""
    run_ = requests("call_0")
    spans = CallIds(requests("call_0", name=name), executes("call_0", name=name))
    assert (CallIds(run_).match(spans), spans.match(CallIds(run_))) == (is_proof, is_proof)
    assert Owners([run_]).of(spans) == ([run_] if is_proof else [])


@pytest.mark.parametrize(("arguments", "is_same"), [({"n": 1}, True), ({"n": 2}, False), ("[cut", True)])
def test_an_id_is_of_two_calls_where_their_arguments_differ(arguments: Any, is_same: bool) -> None:
    one, other = (CallIds(run(model_span([("call_0", "pay", given)]))) for given in ({"n": 1}, arguments))
    assert one.means_same(other, "call_0") is is_same
    assert one.means_same(CallIds(executes("call_0")), "call_0"), "only one requested it"


def test_ids_that_are_added_count() -> None:
    ids = CallIds()
    ids.add(executes("a"))
    assert ids.match(CallIds(requests("a")))


def test_the_owners_of_spans_are_the_runs_that_their_ids_prove() -> None:
    first, second, third = requests("a"), requests("b"), executes("x")
    owners = Owners([first, second, third])
    assert owners.of(CallIds(executes("a"))) == [first]
    assert owners.of(CallIds(requests("x"))) == [third]
    assert {id(one) for one in owners.of(CallIds(executes("a", "b")))} == {id(first), id(second)}
    assert owners.of(CallIds(executes("z"), requests("a"))) == []
    assert owners.of(CallIds()) == []


def test_an_owner_is_found_once_however_much_proves_it() -> None:
    owner = run(model_span([("a", "pay", {}), ("b", "pay", {})]), tool_span("pay", number=20, call_id="x"))
    assert len(Owners([owner]).of(CallIds(executes("a", "b"), requests("x")))) == 1


def test_an_id_that_two_runs_requested_has_two_requesters() -> None:
    first, second = requests("a"), requests("a", "b")
    owners = Owners([first, second])
    assert [id(one) for one in owners.requesters("a")] == [id(first), id(second)]
    assert [id(one) for one in owners.requesters("b")] == [id(second)]
    assert owners.requesters("c") == []
    assert owners.requesters(None) == []


def test_a_call_is_of_another_run_by_its_id() -> None:
    own, other = requests("call_7Hq0Zk3"), executes("call_7Hq0Zk3", name="renamed", arguments={"n": 1})
    assert is_of_another(own, other)
    assert not is_of_another(own, executes("b", name="renamed"))
    assert not is_of_another(own), "its own call is no other's"


def test_an_id_that_numbers_the_calls_of_an_answer_tells_nothing_of_another_run() -> None:
    own = requests("call_0")
    assert not is_of_another(own, executes("call_0", arguments={"n": 1}))
    assert is_of_another(own, executes("call_0", arguments={}))


@pytest.mark.parametrize(("arguments", "has"), [({"n": 1}, True), ({"n": 2}, False), (None, True)])
def test_a_call_without_an_id_is_of_another_run_by_its_name_and_arguments(
    arguments: dict[str, Any] | None, has: bool
) -> None:
    own = run(model_span([(None, "pay", {"n": 1})]))
    other = run(tool_span("pay", arguments))
    assert is_of_another(own, other) is has
    assert not is_of_another(own, run(tool_span("search", arguments)))


@pytest.mark.parametrize(("call_id", "has"), [("b", False), ("", True)])
def test_an_equal_call_with_an_id_of_its_own_is_another(call_id: str, has: bool) -> None:
    """Parallel workers make the same call each."""
    own = requests("a")
    assert is_of_another(own, executes(call_id, arguments={})) is has


def test_only_so_many_calls_of_a_name_are_compared() -> None:
    def found(before: int) -> bool:
        own = run(model_span([(None, "pay", {"n": 1})]))
        others = run(*(tool_span("pay", {"n": 2}, number) for number in range(10, 10 + before)))
        last = run(tool_span("pay", {"n": 1}, 5_000))
        return is_of_another(own, others, last)

    assert [found(MAX_CANDIDATES - 1), found(MAX_CANDIDATES)] == [True, False]


def test_without_runs_nothing_is_known() -> None:
    own = requests("a")
    known = KnownCalls()
    known.note_lacking()
    assert known.without_others([request_of(own)], own)
    assert known.lacking == set()


def began_with(*ids: str, parent: RunSpans) -> RunSpans:
    """A run that began with messages about the results of these calls."""
    begun = run(agent_span(number=30), parent=parent)
    assert begun.anchor is not None
    begun.anchor.user_input = exchange(*ids)
    return begun


@pytest.mark.parametrize(("recorded", "lacks"), [("a", False), ("b", True)])
def test_a_run_that_began_with_a_call_that_none_has_tells_that_one_before_it_lacks_it(
    recorded: str, lacks: bool
) -> None:
    parent = RunSpans(None, b"parent")
    known = KnownCalls([run(tool_span("pay", call_id=recorded), parent=parent), began_with("a", parent=parent)])
    known.note_lacking()
    assert known.lacking == ({id(parent)} if lacks else set())


def test_before_the_first_run_there_is_none_that_could_lack_it() -> None:
    parent = RunSpans(None, b"parent")
    known = KnownCalls([began_with("a", parent=parent)])
    known.note_lacking()
    assert known.lacking == set()


def test_an_id_that_many_runs_have_singles_out_none() -> None:
    runs = [requests("call_0") for _ in range(MAX_CANDIDATES + 1)]
    assert Owners(runs).of(CallIds(executes("call_0"))) == []
    assert len(Owners(runs[1:]).of(CallIds(executes("call_0")))) == MAX_CANDIDATES


PAY: tuple[None, str, dict[str, Any]] = (None, "pay", {})
LOOK: tuple[None, str, dict[str, Any]] = (None, "look", {})


@pytest.mark.parametrize(
    ("others", "are_of_another"),
    [
        ([run(model_span([PAY, LOOK]))], True),
        ([run(model_span([PAY]), model_span([LOOK], 4, at=20))], False),
        ([run(model_span([PAY])), run(model_span([LOOK], 4))], False),
        ([run(model_span([PAY, LOOK], 4, at=60))], False),
    ],
    ids=["one answer", "two answers", "two runs", "asked for later"],
)
def test_the_calls_of_a_turn_are_those_of_one_answer(others: list[RunSpans], are_of_another: bool) -> None:
    own = run(model_span([PAY, LOOK], 9, at=40))
    turn = requested_calls(own.models)
    assert KnownCalls([*others, own]).without_others(turn, own) == ([] if are_of_another else turn)


def test_a_turn_of_which_the_run_executed_a_call_is_of_another_only_where_its_answer_is_the_same() -> None:
    """As where a human approved a call that waited: the other ran before."""
    own = run(tool_span("pay", {}, 8, at=30), model_span([(None, "pay", {}), (None, "pay", {})], 9, at=40))
    turn = requested_calls(own.models)
    turn[0].execution = merged_execution(own.executions[0])
    same, longer = requests(None, None), requests(None, None, None)
    assert len(KnownCalls([same, own]).without_others(turn, own)) == 1
    assert len(KnownCalls([longer, own]).without_others(turn, own)) == 2
