"""Several runs as one."""

from __future__ import annotations

from collector.model.genai_span import Content
from collector.scoring.joined import join
from tests.collector.verdicts import run_of


def test_the_request_of_a_whole_trace_is_all_that_was_asked() -> None:
    asked = [
        run_of("a", span_id=b"1" * 8, user_input="Find order 42"),
        run_of("b", span_id=b"2" * 8, user_input="inner", parent_span_id=b"1" * 8),
        run_of("c", span_id=b"3" * 8, user_input="Find order 42"),
        run_of("d", span_id=b"4" * 8, user_input="Refund it"),
    ]
    assert join(asked, 0).user_input == "Find order 42\n\nRefund it"
    assert join([run_of("a")], 0).user_input is None


def test_a_whole_trace_ends_with_its_last_outermost_run_and_offered_what_any_did() -> None:
    first = run_of("a", span_id=b"1" * 8, contents=[Content("Let me see.", "tools of the first")])
    inner = run_of("b", span_id=b"2" * 8, parent_span_id=b"3" * 8, contents=[Content("inner words", "inner tools")])
    last = run_of("c", span_id=b"3" * 8, contents=[Content("Done.", None), Content("before", "tools of the last")])
    assert join([first, inner, last], 0).contents == [
        Content("Done.", None),
        Content("before", "tools of the last"),
        Content(None, "tools of the first"),
        Content(None, "inner tools"),
    ]


def test_a_whole_trace_is_anchored_at_its_earliest_outermost_run() -> None:
    inner = run_of("b", span_id=b"2" * 8, parent_span_id=b"3" * 8)
    first, last = run_of("a", span_id=b"3" * 8), run_of("c", span_id=b"4" * 8)
    assert join([inner, first, last], 0).span_id == first.span_id
