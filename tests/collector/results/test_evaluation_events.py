"""Evaluation events as the semantic conventions have them."""

from __future__ import annotations

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.results.evaluation_events import evaluation_events
from scorers import Doubt, ToolCall, Trajectory, load_rules
from tests.collector.verdicts import evaluation, verdict_of
from tests.otlp_data import TRACE, span_id, values_of


def test_one_event_an_evaluation_with_everything_that_is_known() -> None:
    run = {"conversation_id": "c1", "response_id": "r1", "route": "/chat", "intent": "weather"}
    verdict = verdict_of("a", evaluations=[evaluation(), evaluation("fail", 0.2, "evalite", primary=False)], run=run)
    first, second = (LogRecord.FromString(raw) for raw in evaluation_events(verdict, 17))
    assert (first.event_name, first.time_unix_nano, first.trace_id, first.span_id) == (
        "gen_ai.evaluation.result", 17, TRACE, span_id(1),
    )  # fmt: skip
    said = values_of(first)
    uid = said.pop("log.record.uid")
    assert said == {
        "gen_ai.evaluation.name": "trajectory",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": "because",
        "rightcall.scorer.version": "trajectory@1",
        "rightcall.complete": True,
        "rightcall.revision": 0,
        "gen_ai.agent.name": "helper",
        "rightcall.rule": "weather",
        "rightcall.rule.digest": "d1",
        "gen_ai.conversation.id": "c1",
        "gen_ai.response.id": "r1",
        "rightcall.route": "/chat",
        "rightcall.intent": "weather",
    }
    assert values_of(second)["gen_ai.evaluation.name"] == "evalite"
    assert values_of(second)["log.record.uid"] != uid


def test_an_event_names_the_tools_that_are_missing_and_those_that_should_not_be_there() -> None:
    fail = evaluation("fail", 0.5, missing=["send_email"], outcomes=("forbidden", "matched"))
    others = evaluation("fail", 0.2, "evalite", primary=False)
    verdict = verdict_of("delete_order", "get_weather", evaluations=[fail, others])
    said, other = (values_of(LogRecord.FromString(raw)) for raw in evaluation_events(verdict, 1))
    assert (said["rightcall.missing_tools"], said["rightcall.extra_tools"]) == (["send_email"], ["delete_order"])
    assert "rightcall.extra_tools" not in other


def test_an_event_links_to_the_run_in_the_console_where_people_reach_that() -> None:
    verdict = verdict_of("a", evaluations=[evaluation("pass", 1.0)])
    (linked,) = evaluation_events(verdict, 1, console="https://rightcall.example")
    (plain,) = evaluation_events(verdict, 1)
    url = f"https://rightcall.example/console/runs/{verdict.run.trace_id.hex()}"
    assert values_of(LogRecord.FromString(linked))["rightcall.run.url"] == url
    assert "rightcall.run.url" not in values_of(LogRecord.FromString(plain))


def body_of(calls: list[ToolCall], *, values: bool = False) -> str:
    """The body of the event on a run of a rule that looks orders up by their id."""
    expect = {"sequence": [{"tool": "lookup", "arguments": {"id": {"regex": "^ord_"}}}]}
    (rule,) = load_rules({"rules": [{"name": "refund", "match": {}, "expect": expect}]}).rules
    run = {"trajectory": Trajectory(calls), "call_span_ids": (None,) * len(calls)}
    evaluations = rule.evaluate(Trajectory(calls))
    verdict = verdict_of(rule="refund", evaluations=evaluations, compiled_rule=rule, run=run)
    (raw,) = evaluation_events(verdict, 1, values=values)
    return LogRecord.FromString(raw).body.string_value


def test_the_body_of_a_fail_says_what_differs_without_values_unless_asked() -> None:
    calls = [ToolCall("lookup", {"id": "secret 7"})]
    assert body_of(calls).splitlines() == [
        "fail by rule refund: score 0.000 = 1 - 2/(1 + 1): wrong arguments lookup (cost 2); 0 calls matched",
        "    expected                       called",
        '  ~ lookup(id={"regex": "^ord_"})  lookup  wrong arguments; lookup.id does not match ^ord_',
    ]
    assert 'lookup.id: "secret 7" does not match ^ord_' in body_of(calls, values=True)


def test_a_pass_has_no_body() -> None:
    assert body_of([ToolCall("lookup", {"id": "ord_7"})]) == ""


def test_a_body_is_bounded_and_printable_whatever_was_called() -> None:
    name, arguments = f"\x1b[2J{'a' * 200}", {"\x9b" * 9_999: "\n" * 99_999}
    body = body_of([ToolCall(name, arguments, step=at) for at in range(64)])
    assert all(line.isprintable() for line in body.split("\n"))
    assert len(body) < 30_000
    assert body.count("extra") > 64
    assert body_of([ToolCall("a", step=at) for at in range(65)]).count("\n") == 0


def test_a_published_fail_has_a_body_also_where_what_the_rule_expects_takes_too_much_work() -> None:
    expect = {"repeat": {"tool": "search", "arguments": {"query": {"fuzzy": "refund policy" * 9, "ratio": "weighted"}}}}
    scorers = [{"system": "deepeval_permission", "denied_tools": ["delete_account"]}]
    (rule,) = load_rules({"rules": [{"name": "r", "match": {}, "expect": expect, "scorers": scorers}]}).rules
    calls = [*[ToolCall("search", {"query": "x" * 19_000})] * 3, ToolCall("delete_account")]
    evaluations = rule.evaluate(Trajectory(calls))
    run = {"trajectory": Trajectory(calls), "call_span_ids": (None,) * len(calls)}
    verdict = verdict_of(rule="r", evaluations=evaluations, compiled_rule=rule, run=run)
    (raw,) = evaluation_events(verdict, 1)
    assert verdict.label == "fail"
    assert LogRecord.FromString(raw).body.string_value == verdict.headline(evaluations[0])


def test_an_event_says_what_is_in_doubt_and_which_calls_have_no_span_to_annotate() -> None:
    calls = [
        ToolCall("a"),
        ToolCall("b", known_by="result"),
        ToolCall("c", known_by="request"),
        ToolCall("d", known_by="request", executed=False),
    ]
    trajectory = Trajectory(calls, doubts=[Doubt("missing_span"), Doubt("uncertain_owner", (1,))])
    verdict = verdict_of(*"abcd", label="incomplete", run={"trajectory": trajectory})
    (raw,) = evaluation_events(verdict, 1)
    attributes = values_of(LogRecord.FromString(raw))
    assert attributes["rightcall.complete"] is False
    assert attributes["rightcall.doubts"] == ["missing_span", "uncertain_owner"]
    assert attributes["rightcall.calls_without_span"] == ["b", "c"]


def test_a_dimension_that_events_have_anyway_is_in_them_once() -> None:
    dimensions = {"gen_ai.conversation.id": "c1", "gen_ai.agent.name": "support", "tier": "gold"}
    run = {"conversation_id": "c1", "agent": "support", "attributes": dimensions}
    verdict = verdict_of("a", evaluations=[evaluation()], run=run)
    (raw,) = evaluation_events(verdict, 1, dimensions=tuple(dimensions))
    keys = [attribute.key for attribute in LogRecord.FromString(raw).attributes]
    assert "tier" in keys
    assert sorted(keys) == sorted(set(keys))


def test_the_same_evaluation_has_the_same_uid_and_a_revision_another() -> None:
    def uid(revision: int, at: int) -> str:
        (raw,) = evaluation_events(verdict_of("a", revision=revision), at)
        return str(values_of(LogRecord.FromString(raw))["log.record.uid"])

    assert uid(0, 1) == uid(0, 2)
    assert uid(0, 1) != uid(1, 1)


def test_a_failed_scorer_says_so() -> None:
    verdict = verdict_of(evaluations=[evaluation("error", None, details={"error.type": "ValueError"})])
    (raw,) = evaluation_events(verdict, 1)
    record = LogRecord.FromString(raw)
    said = values_of(record)
    assert (said["gen_ai.evaluation.score.label"], said["error.type"], record.severity_number) == (
        "error",
        "ValueError",
        13,
    )
    assert "gen_ai.evaluation.score.value" not in said
