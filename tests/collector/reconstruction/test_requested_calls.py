"""The calls that models requested, each once, and the status of their results."""

from __future__ import annotations

from typing import Any

from collector.reconstruction.drafts import by_start
from collector.reconstruction.requested_calls import RequestedCall, requested_calls
from tests.builders import genai_spans, model_span, result


def requested(*models: Any) -> list[RequestedCall]:
    return requested_calls(sorted(genai_spans(models), key=by_start))


def test_turns_and_positions() -> None:
    found = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1),
        model_span(number=3, at=20),
        model_span([("c3", "c", {})], 4, at=40),
    )
    assert [(one.name, one.turn, one.position) for one in found] == [("a", 0, 0), ("b", 0, 1), ("c", 1, 0)]


def test_results_are_matched_by_id() -> None:
    results = [{"role": "assistant"}, result("c1", "Error: no"), result("c2", "fine")]
    found = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1),
        model_span([("c3", "c", {})], 3, at=20, input_messages=results),
    )
    assert [one.result_status for one in found] == ["error", "ok", None]


def test_results_without_known_ids_are_matched_by_position_only_if_all_are_present() -> None:
    results = [{"role": "assistant"}, result("x1", "Error: no")]
    one = requested(model_span([("c1", "a", {})], 2, at=1), model_span(number=3, at=20, input_messages=results))
    two = requested(
        model_span([("c1", "a", {}), ("c2", "b", {})], 2, at=1), model_span(number=3, at=20, input_messages=results)
    )
    assert [found.result_status for found in one] == ["error"]
    assert [found.result_status for found in two] == [None, None]


def test_a_response_without_calls_does_not_hide_earlier_requests() -> None:
    results = [{"role": "assistant"}, result("x1", "Error: no")]
    found = requested(
        model_span([("c1", "a", {})], 2, at=1),
        model_span(number=3, at=10),
        model_span(number=4, at=20, input_messages=results),
    )
    assert [one.result_status for one in found] == ["error"]


def test_no_models() -> None:
    assert requested() == []


def test_equal_requests_without_an_end_are_two() -> None:
    models = [model_span([(None, "pay", {"n": 1})], number, at=10 * number) for number in (2, 3)]
    for model in models:
        model.end_ns = 0
    assert len(requested(*models)) == 2
