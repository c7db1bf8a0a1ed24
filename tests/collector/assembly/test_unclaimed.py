"""What is known of traces without an agent is kept for one to two lifetimes, and bounded in number and bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.seen_from import SeenFrom
from collector.assembly.unclaimed import UnclaimedTraces
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from tests.otlp_data import span_id

LIFETIME, LINK = 10.0, bytes(range(16))
MANY = 1 << 30
RESOURCE = Resource({})


def trace_id(number: int) -> bytes:
    return number.to_bytes(16)


def root(number: int) -> GenAISpan:
    return GenAISpan(span_id(number), b"", 1, 1, Role.OTHER, "test", RESOURCE)


def unclaimed(limit: int = MANY, max_bytes: int = MANY) -> UnclaimedTraces:
    return UnclaimedTraces(LIFETIME, limit, max_bytes)


def links_of(traces: UnclaimedTraces, number: int) -> int:
    """How many parent links of a trace are known."""
    return len(traces.claim(trace_id(number)).links) // len(LINK)


def test_what_is_known_of_a_trace_is_claimed_once() -> None:
    traces = unclaimed()
    traces.add_links(trace_id(1), LINK, MANY, 0)
    traces.add_root(trace_id(1), root(7), 100, MANY, 1)
    traces.add_links(trace_id(1), LINK * 2, MANY, 2)
    traces.add_links(trace_id(2), LINK, MANY, 3)
    known = traces.claim(trace_id(1))
    assert (bytes(known.links), [span.span_id for span in known.roots]) == (LINK * 3, [span_id(7)])
    assert links_of(traces, 1) == 0
    assert links_of(traces, 2) == 1


def test_a_trace_is_known_for_a_lifetime_at_least_and_for_two_at_most() -> None:
    for waited, expected in ((LIFETIME, 1), (2 * LIFETIME + 0.2, 0)):
        traces = unclaimed()
        traces.add_links(trace_id(1), LINK, MANY, LIFETIME + 0.1)  # others begin with it
        at = 0.0
        while at < waited:
            at = min(waited, at + 1)
            traces.add_links(trace_id(2), LINK, MANY, LIFETIME + 0.1 + at)
        assert links_of(traces, 1) == expected


def test_news_of_a_trace_keep_what_was_known_before() -> None:
    traces = unclaimed()
    for at in range(100):
        traces.add_links(trace_id(1), LINK, MANY, float(at))
    assert links_of(traces, 1) == 100


def test_the_number_of_traces_is_bounded() -> None:
    traces = unclaimed(limit=10)
    for number in range(1, 1_001):
        traces.add_links(trace_id(number), LINK, MANY, 0)
    known = [number for number in range(1, 1_001) if links_of(traces, number)]
    assert 10 <= len(known) <= 20
    assert known == list(range(known[0], 1_001)), "the oldest are forgotten first"


def test_links_and_roots_of_one_trace_are_bounded() -> None:
    traces = unclaimed()
    for number in range(100):
        traces.add_links(trace_id(1), LINK, 3 * len(LINK), 0)
        traces.add_root(trace_id(1), root(number), 100, 5, 0)
    known = traces.claim(trace_id(1))
    assert len(known.links) == 3 * len(LINK)
    assert [span.span_id for span in known.roots] == [span_id(number) for number in range(5)]


def test_only_what_was_known_when_the_process_became_ready_is_marked() -> None:
    traces = unclaimed(limit=1)
    traces.add_links(trace_id(1), LINK, MANY, 0)
    traces.add_links(trace_id(2), LINK, MANY, 0)  # the first is of the old ones now
    traces.ready(SeenFrom(1, 0, 0))
    traces.add_links(trace_id(3), LINK, MANY, 0)
    assert [traces.claim(trace_id(number)).before_ready for number in (2, 3)] == [True, False]
    traces = unclaimed(limit=1)
    traces.add_links(trace_id(1), LINK, MANY, 0)
    traces.add_links(trace_id(2), LINK, MANY, 0)
    traces.ready(SeenFrom(1, 0, 0))
    assert traces.claim(trace_id(1)).before_ready
    assert not traces.claim(trace_id(9)).before_ready


def test_of_what_was_known_before_it_is_known_from_when_on_it_was_seen() -> None:
    traces, first, second = unclaimed(), SeenFrom(1, 0, 0), SeenFrom(2, 0, 0)
    for number, seen_from in enumerate((first, second, SeenFrom(3, 0, 0))):
        traces.add_links(trace_id(number), LINK, MANY, 0)
        traces.ready(seen_from)
    assert [traces.claim(trace_id(number)).seen_from for number in range(3)] == [None, first, second]


@pytest.mark.parametrize("what", ["traces", "links", "roots"])
def test_many_small_things_are_bounded_in_bytes(what: str) -> None:
    traces, most = unclaimed(max_bytes=80_000), 80_000
    for number in range(1, 501):
        if what == "roots":
            traces.add_root(trace_id(number), root(1), 2_000, MANY, 0)
        else:
            traces.add_links(trace_id(number), LINK * (200 if what == "links" else 1), MANY, 0)
    known = [traces.claim(trace_id(number)) for number in range(1, 501)]
    sizes = [one.size for one in known if one.links or one.roots]
    assert most / 2 < sum(sizes) <= most + 2 * max(sizes), "to each half one more"


steps = st.tuples(st.integers(0, 8), st.integers(0, 3_000), st.sampled_from(["links", "root", "claim"]))


@given(st.lists(steps, max_size=60), st.integers(2_000, 20_000))
def test_the_bytes_of_all_are_bounded(arriving: list[tuple[int, int, str]], most: int) -> None:
    traces = unclaimed(max_bytes=most)
    for number, size, what in arriving:
        if what == "links":
            traces.add_links(trace_id(number), bytes(size), MANY, 0)
        elif what == "root":
            traces.add_root(trace_id(number), root(1), size // 2, MANY, 0)
        else:
            traces.claim(trace_id(number))
    added_last = 2 * (3_000 * 2 + 2_000)  # to each half; one trace may be carried over from the other half besides
    assert sum(traces.claim(trace_id(number)).size for number in range(9)) <= most + added_last + 9 * 400
