"""What a row says of a verdict, and what it leaves out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.runs.rows import is_of_run, reasons_of, row_of
from scorers import CompiledRule, ToolCall, Trajectory, load_rules
from tests.collector.verdicts import evaluation, run_of, verdict_of
from tests.otlp_data import TRACE, span_id


def rule(**expect: Any) -> CompiledRule:
    (compiled,) = load_rules({"rules": [{"name": "weather", "match": {}, "expect": expect}]}).rules
    return compiled


def test_ids_are_hex_and_unknown_ones_are_null() -> None:
    row = row_of(verdict_of("pay", run={"parent_span_id": span_id(9)}))
    assert (row["trace_id"], row["span_id"], row["parent_span_id"]) == (TRACE.hex(), "0" * 15 + "1", "0" * 15 + "9")
    row = row_of(verdict_of("pay"))
    assert (row["parent_span_id"], row["conversation_id"], row["route"]) == (None, None, None)


def test_a_pass_says_no_more_than_it_has_to() -> None:
    row = row_of(verdict_of("pay", outcomes=("matched",)))
    assert row.keys().isdisjoint({"reasons", "difference", "unscored_reason", "forbidden", "scope", "shadow"})
    assert row["tool_calls"][0]["outcome"] == "matched"
    assert is_of_run(row)


@pytest.mark.parametrize(
    ("fields", "key", "value"), [({"scope": "trace"}, "scope", "trace"), ({"shadow": True}, "shadow", True)]
)
def test_what_is_not_of_the_run_itself_says_so(fields: dict[str, Any], key: str, value: Any) -> None:
    row = row_of(verdict_of("pay", **fields))
    assert row[key] == value
    assert not is_of_run(row)


def test_a_run_without_a_rule_has_no_outcomes_and_the_reason() -> None:
    row = row_of(verdict_of("pay", rule=None, evaluations=[]))
    assert (row["rule"], row["evaluations"], row["unscored_reason"]) == (None, [], "no_rule")
    assert row["tool_calls"][0]["outcome"] is None
    assert "reasons" not in row
    row = row_of(verdict_of("pay", rule=None, evaluations=[], is_rule_unknown=True))
    assert row["unscored_reason"] == "unknown_route"


def test_a_fail_says_what_differs() -> None:
    verdict = verdict_of("pay", label="fail", value=0.0, compiled_rule=rule(sequence=["search", "book"]))
    row = row_of(verdict)
    assert row["reasons"] == reasons_of(verdict)
    assert set(row["reasons"]) == {"missing search", "missing book", "extra pay"}
    assert {one["outcome"] for one in row["difference"]} == {"missing", "extra"}


def test_reasons_are_the_doubts_the_error_or_the_explanation_where_nothing_differs() -> None:
    undecided = verdict_of("pay", evaluations=[evaluation("incomplete")], doubts=["missing_span", "truncated"])
    assert reasons_of(undecided) == ["missing_span", "truncated"]
    broken = verdict_of("pay", evaluations=[evaluation("error", None, details={"error.type": "TimeoutError"})])
    assert reasons_of(broken) == ["TimeoutError"]
    assert reasons_of(verdict_of("pay", evaluations=[evaluation("error", None)])) == ["error"]
    assert reasons_of(verdict_of("pay", evaluations=[evaluation("fail", explanation="too slow")])) == ["too slow"]
    assert reasons_of(verdict_of("pay")) == []
    assert reasons_of(verdict_of("pay", rule=None, evaluations=[])) == []


def test_the_reasons_are_those_of_the_primary_scorer() -> None:
    other = evaluation("error", None, name="other", primary=False)
    assert reasons_of(verdict_of(evaluations=[other, evaluation("fail", explanation="too slow")])) == ["too slow"]
    row = row_of(verdict_of(evaluations=[other, evaluation("pass")]))
    assert "reasons" not in row
    assert [one["name"] for one in row["evaluations"]] == ["other", "trajectory"]


def test_a_forbidden_call_is_told_whichever_scorer_is_primary() -> None:
    assert row_of(verdict_of("pay", label="fail", outcomes=("forbidden",)))["forbidden"]
    forbids = rule(tool="search", forbid=["pay"])
    assert row_of(verdict_of("search", "pay", label="pass", compiled_rule=forbids))["forbidden"]
    assert "forbidden" not in row_of(verdict_of("search", label="fail", compiled_rule=forbids))
    assert "forbidden" not in row_of(verdict_of("pay", label="fail", compiled_rule=rule(tool="search")))


def test_arguments_that_could_not_be_read_are_there_as_received() -> None:
    calls = [ToolCall("pay", None, arguments_text="{broken"), ToolCall("pay", {"n": 1}, step=1)]
    run = run_of(trajectory=Trajectory(calls))
    first, second = row_of(verdict_of(run={"trajectory": run.trajectory}))["tool_calls"]
    assert (first["arguments"], first["arguments_text"]) == (None, "{broken")
    assert (second["arguments"], "arguments_text" in second) == ({"n": 1}, False)


@pytest.mark.parametrize("fields", [{}, {"label": "fail"}, {"rule": None, "evaluations": []}, {"shadow": True}])
def test_a_row_is_plain_data(fields: dict[str, Any]) -> None:
    row = row_of(verdict_of("pay", "\u202e</script>", doubts=["missing_span"], **fields))
    assert json.loads(json.dumps(row)) == row
    assert row["doubts"] == ["missing_span"]
    assert row["complete"] is False
