"""`schema: declared`: arguments against the schema that the definition of their tool declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scorers import Doubt, RuleError, ToolCall, Trajectory, load_rules
from scorers.conformance.declared import MAX_SCHEMA
from scorers.score import Score
from tests.operations import calls, within

REFUND = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "pattern": "^ord_"}, "amount": {"type": "number"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
DECLARED: dict[str, dict[str, Any] | None] = {"refund": REFUND, "log": None}
(RULE,) = load_rules({"rules": [{"name": "contracts", "match": {}, "schema": "declared"}]}).rules


def scored(
    *calls: ToolCall, declared: dict[str, dict[str, Any] | None] | None = DECLARED, doubts: tuple[Doubt, ...] = ()
) -> Score:
    evaluations = RULE.evaluate(Trajectory(calls, doubts=doubts, declared=declared))
    assert [evaluation.name for evaluation in evaluations] == ["trajectory", "declared_schema"]
    assert [evaluation.primary for evaluation in evaluations] == [True, False]
    return evaluations[1].score


GOOD = ToolCall("refund", {"order_id": "ord_1", "amount": 7})
BAD = ToolCall("refund", {"order_id": 1})


def test_calls_that_fit_their_schema_pass_and_others_fail_by_their_share() -> None:
    assert (scored(GOOD).label, scored(GOOD).value) == ("pass", 1.0)
    score = scored(GOOD, BAD, GOOD, ToolCall("log", {"any": 1}))
    assert (score.label, score.value) == ("fail", 0.75)
    assert score.outcomes == ("matched", "wrong_arguments", "matched", "matched")
    assert score.explanation == "3 of 4 calls fit the schema that their tool declares; not refund"
    assert (scored().label, scored().value) == ("pass", 1.0)


@pytest.mark.parametrize(
    "arguments", [{}, {"order_id": "7"}, {"order_id": "ord_1", "more": 1}, {"order_id": "ord_1", "amount": "7"}]
)
def test_each_way_not_to_fit_fails(arguments: dict[str, Any]) -> None:
    assert scored(ToolCall("refund", arguments)).label == "fail"


def test_what_declares_nothing_takes_masked_values() -> None:
    assert scored(ToolCall("log", {"any": "[REDACTED]"})).label == "pass"


def test_a_request_that_was_not_executed_counts() -> None:
    assert scored(replace(BAD, executed=False)).label == "fail"


@pytest.mark.parametrize(
    ("call", "declared"),
    [
        (replace(GOOD, arguments=None), DECLARED),
        (replace(GOOD, arguments={"order_id": "ord_1", "amount": "[REDACTED]"}), DECLARED),
        (replace(GOOD, arguments={"order_id": "ord_****", "amount": 7}), DECLARED),
        (GOOD, None),
        (ToolCall("made_up", {}), DECLARED),
        (GOOD, {"refund": {"type": "nonsense"}}),
        (GOOD, {"refund": {"$ref": "https://example.com/schema"}}),
        (GOOD, {"refund": {"description": "x" * MAX_SCHEMA}}),
    ],
    ids=[
        "no arguments",
        "masked and unfit",
        "masked and fit",
        "no definitions",
        "no definition",
        "no schema",
        "not local",
        "too large",
    ],
)
def test_what_cannot_be_checked_is_neither_right_nor_wrong(
    call: ToolCall, declared: dict[str, dict[str, Any] | None] | None
) -> None:
    score = scored(call, declared=declared)
    assert (score.label, score.value, score.outcomes) == ("incomplete", None, ("unscored",))
    assert "not checked" in score.explanation
    assert (
        scored(call, ToolCall("other", {"a": 1}), declared={**(declared or {}), "other": {"required": ["b"]}}).label
        == "fail"
    )


def test_a_fail_stands_and_a_pass_waits_where_calls_may_be_missing() -> None:
    missing = Doubt("missing_span", sentence="a span is missing")
    assert scored(GOOD, doubts=(missing,)).label == "incomplete"
    assert scored(BAD, doubts=(missing,)).label == "fail"


def test_a_schema_that_takes_too_much_work_is_an_error_and_the_rest_is_scored() -> None:
    branching = {"$defs": {"a0": {"type": "object"}}, "$ref": "#/$defs/a30"}
    for level in range(1, 31):
        branching["$defs"][f"a{level}"] = {"allOf": [{"$ref": f"#/$defs/a{level - 1}"}] * 2}  # type: ignore[index]
    score = scored(GOOD, declared={"refund": branching})
    assert (score.label, score.details["error.type"]) == ("error", "WorkLimitError")


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{}] * 4_000},
        {"allOf": [True] * 2_500},
        {"properties": {f"p{number}": {"pattern": f"a{{{number}}}b{{900}}"} for number in range(300)}},
        {"pattern": r"\pL" * 4_000},
    ],
    ids=["schemas", "true", "counted", "classes"],
)
def test_a_schema_that_takes_too_long_to_compile_is_an_error(schema: dict[str, Any]) -> None:
    with within(0.2):
        assert scored(GOOD, declared={"refund": schema}).label == "error"


def test_anchors_are_looked_for_once_however_many_references_there_are() -> None:
    def anchored(references: int) -> int:
        inner = [{"$ref": "#a"} for _ in range(references)]
        schema = {"$defs": {"a": {"$anchor": "a", "type": "object"}}, "allOf": inner}
        return calls(lambda: scored(GOOD, declared={"refund": schema}))

    anchored(1)  # imports
    assert anchored(400) < 5 * anchored(100)


def test_a_schema_is_looked_at_once_however_often_its_tool_is_called() -> None:
    assert scored(*[GOOD] * 60, declared={"refund": {**REFUND, "description": "x" * 1_000}}).label == "pass"
    properties = {f"p{number}": {"type": "string", "description": "x" * 20} for number in range(4_000)}
    declared: dict[str, dict[str, Any] | None] = {"refund": {"properties": properties}}
    assert scored(*[GOOD] * 2_000, declared=declared).label == "incomplete"
    once = calls(lambda: scored(GOOD, declared=declared))
    assert calls(lambda: scored(*[GOOD] * 2_000, declared=declared)) < once + 2_000 * len(properties) / 10


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": ["https://json-schema.org/draft/2020-12/schema"]},
        {"$schema": {}},
        {"$schema": 7},
        {"$ref": "#/const", "const": 5},
        {"$ref": "#/enum", "enum": [5]},
        {"$ref": "#/title/0", "title": "x"},
        {"$ref": "#/x/0", "x": {"0": "y"}},
        {"$ref": "#/allOf/" + "9" * 5_000, "allOf": [{}]},
        {"pattern": "(a{1,900})" * 20},
        {"minimum": "1"},
    ],
    ids=", ".join,
)
def test_a_schema_that_is_none_says_nothing_about_the_agent(schema: dict[str, Any]) -> None:
    assert scored(GOOD, declared={"refund": schema}).label == "incomplete"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scope": "trace"}, "goes with scope: run"),
        ({"scorers": ["trajectory", {"system": "evalite", "name": "declared_schema"}]}, "named declared_schema"),
        ({"schema": "strict"}, "schema"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        load_rules({"rules": [{"name": "a", "match": {}, "schema": "declared", **more}]})
