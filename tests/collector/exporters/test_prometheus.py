"""Verdicts as metrics: counted once, under the right label, with exemplars, on a real listener."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any
from unicodedata import category

import httpx
import pytest
from hypothesis import given, settings
from prometheus_client import Metric, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from collector.config.exporters import PrometheusExporterConfig
from collector.exporters.prometheus import PrometheusExporter
from collector.results.verdict_counter import VerdictCounter, begin_counters
from collector.telemetry.metric_table import MAX_COMBINATIONS, OVERFLOW
from collector.telemetry.metrics import Telemetry
from collector.transport.http_server import Receive, Scope, Send
from scorers import FoundIntent, RuleSet, compile_rules, parse_rules
from tests.collector.verdicts import evaluation, verdict_of
from tests.harness import value
from tests.strategies import hostile_text
from tests.waiting import PATIENCE, let_others_run, until

SERIES = {"rule": "weather", "route": "", "intent": "", "scorer": "trajectory"}


def counted(*verdicts: Any) -> Telemetry:
    telemetry = Telemetry()
    counter = VerdictCounter(telemetry)
    for verdict in verdicts:
        counter.count(verdict)
    counter.flush()
    counter.flush()  # nothing is brought twice
    return telemetry


def labels_of(telemetry: Telemetry) -> dict[str, float]:
    (family,) = [family for family in telemetry.registry.collect() if family.name == "rightcall_evaluations"]
    return {sample.labels["label"]: sample.value for sample in family.samples if sample.value}


def test_a_pass() -> None:
    telemetry = counted(*[verdict_of("a", "b", outcomes=("matched", "extra"))] * 3)
    assert labels_of(telemetry) == {"pass": 3}
    assert value(telemetry, "evaluation_score_count", **SERIES) == 3
    assert value(telemetry, "evaluation_score_bucket", **SERIES, le="0.9") == 0
    assert value(telemetry, "evaluation_score_bucket", **SERIES, le="1.0") == 3
    assert value(telemetry, "tool_calls_total", rule="weather", tool="b", outcome="extra") == 3
    assert value(telemetry, "runs_total", release="root") == 3


@pytest.mark.parametrize(
    ("changes", "label", "unscored"),
    [
        ({"label": "fail", "value": 0.5}, "fail", None),
        ({"label": "ambiguous"}, "ambiguous", "ambiguous"),
        ({"label": "error", "value": None}, "error", "error"),
        ({"label": "incomplete", "doubts": ["uncertain_owner", "missing_span"]}, "incomplete", "uncertain_owner"),
        (
            {"label": "ambiguous", "doubts": ["missing_remote_parent", "uncertain_order"]},
            "ambiguous",
            "uncertain_order",
        ),
        ({"label": "fail", "doubts": ["missing_span"]}, "fail", None),
        ({"doubts": ["missing_remote_parent"]}, "pass", None),
        ({"shadow": True}, "shadow_pass", None),
        ({"shadow": True, "label": "fail"}, "shadow_fail", None),
        ({"revision": 1}, "revised", None),
    ],
    ids=str,
)
def test_only_decided_first_verdicts_of_rules_in_force_are_passes_and_fails(
    changes: dict[str, Any], label: str, unscored: str | None
) -> None:
    telemetry = counted(verdict_of("a", outcomes=("matched",), **changes))
    assert labels_of(telemetry) == {label: 1}
    decided = label in ("pass", "fail")
    assert value(telemetry, "evaluation_score_count", **SERIES) == int(decided)
    assert value(telemetry, "tool_calls_total", rule="weather", tool="a", outcome="matched") == int(decided)
    assert unscored_runs(telemetry) == ({} if unscored is None else {(unscored, "", "helper"): 1})


def unscored_runs(telemetry: Telemetry) -> dict[tuple[str, str, str], float]:
    (family,) = [family for family in telemetry.registry.collect() if family.name == "rightcall_runs_unscored"]
    samples = [sample for sample in family.samples if sample.name.endswith("_total")]
    return {(one.labels["reason"], one.labels["route"], one.labels["agent"]): one.value for one in samples}


def test_a_run_without_a_rule_is_counted_with_its_route_and_agent() -> None:
    telemetry = counted(verdict_of("a", rule=None, evaluations=[], run={"route": "/new", "agent": "mailer"}))
    assert unscored_runs(telemetry) == {("no_rule", "/new", "mailer"): 1}
    assert labels_of(telemetry) == {}
    part = verdict_of("a", rule=None, evaluations=[])
    part.in_scored_whole = True
    assert unscored_runs(counted(part)) == {}
    waited = counted(verdict_of("a", rule=None, evaluations=[], is_rule_unknown=True, run={"agent": None}))
    assert unscored_runs(waited) == {("unknown_route", "", ""): 1}


@pytest.mark.parametrize("changes", [{}, {"scope": "trace"}, {"scope": "conversation"}], ids=str)
def test_a_rule_whose_arguments_were_not_captured_is_counted(changes: dict[str, Any]) -> None:
    def unobserved(*details: dict[str, Any], **more: Any) -> float:
        verdicts = [verdict_of("a", evaluations=[evaluation(details=of)], **changes, **more) for of in details]
        return value(counted(*verdicts), "unobserved_arguments_total", rule="weather")

    assert unobserved({"unobserved": [0]}, {"unobserved": [0]}, {}) == 2
    assert unobserved({"unobserved": [0]}, shadow=True) == unobserved({"unobserved": [0]}, revision=1) == 0


def test_pass_and_fail_are_there_from_the_first_verdict_on() -> None:
    (family,) = [
        family for family in counted(verdict_of("a")).registry.collect() if family.name == "rightcall_evaluations"
    ]
    assert {sample.labels["label"]: sample.value for sample in family.samples} == {"pass": 1, "fail": 0}


def begun(rules: list[dict[str, Any]], telemetry: Telemetry, **more: Any) -> set[tuple[str, ...]]:
    """The labels of what is counted of verdicts, all at 0, before any: rule, route and label of evaluations, rule and tool."""
    file = parse_rules({"rules": [{"expect": {"forbid": []}, **rule} for rule in rules], **more})
    begin_counters(telemetry, RuleSet(compile_rules(file), file.intents))
    families = {family.name: family.samples for family in telemetry.registry.collect()}
    samples = [*families["rightcall_evaluations"], *families["rightcall_tool_calls"]]
    assert not any(sample.value for sample in samples)
    assert not families["rightcall_label_overflow"]
    keys = ("rule", "route", "intent", "scorer", "label", "tool", "outcome")
    return {tuple(sample.labels[key] for key in keys if key in sample.labels) for sample in samples}


def test_what_a_rule_can_say_is_there_before_its_first_verdict() -> None:
    scorers = ["trajectory", {"system": "trajectory", "name": "second"}]
    rule = {"name": "refund", "match": {"route": "/refund"}, "scorers": scorers}
    assert begun([rule | {"expect": {"forbid": ["delete", "drop_*"]}}], Telemetry()) == {
        ("refund", "/refund", "", scorer, label) for scorer in ("trajectory", "second") for label in ("pass", "fail")
    } | {("refund", "delete", "forbidden")}
    telemetry = Telemetry()
    begun([{"name": "weather", "match": {"route": "/a"}}], telemetry)
    counter = VerdictCounter(telemetry)
    counter.count(verdict_of("a", run={"route": "/a"}))
    counter.flush()
    assert value(telemetry, "evaluations_total", **SERIES | {"route": "/a"}, label="pass") == 1, "on the same series"


@pytest.mark.parametrize("dimensions", [(), ("service.version",)], ids=str)
def test_the_judges_of_rules_are_known_before_they_say_anything(dimensions: tuple[str, ...]) -> None:
    telemetry = Telemetry(dimensions=dimensions)
    judged = {"name": "judged", "scorers": ["trajectory", {"system": "tool_choice", "name": "choice"}]}
    begun([judged, {"name": "other"}, {**judged, "name": "trial", "shadow": True}], telemetry)
    (family,) = [one for one in telemetry.registry.collect() if one.name == "rightcall_judge_agreement"]
    assert {(one.labels["rule"], one.labels["scorer"], one.value) for one in family.samples} == {
        ("judged", "choice", 0)
    }
    assert len(family.samples) == 4


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"match": {"route": "/a*"}}, set()),
        ({"match": {"agent": "helper"}}, set()),
        ({"match": {"route": "/a"}, "shadow": True, "expect": {"forbid": ["delete"]}}, set()),
        ({"match": {"agent": "helper"}, "expect": {"forbid": ["delete"]}}, {("r", "delete", "forbidden")}),
        ({"scope": "trace", "expect": {"forbid": ["delete"]}}, {("r", "delete", "forbidden")}),
    ],
    ids=str,
)
def test_nothing_is_begun_whose_labels_only_runs_tell(rule: dict[str, Any], found: set[tuple[str, ...]]) -> None:
    assert begun([{"name": "r", **rule}], Telemetry()) == found
    assert begun([{"name": "r", **rule}], Telemetry(dimensions=["service.version"])) == set()


def test_the_intent_of_a_rule_is_empty_only_where_no_intents_are_looked_for() -> None:
    intents = [{"name": "buy", "keywords": ["buy"]}]
    assert begun([{"name": "r", "match": {"route": "/a"}}], Telemetry(), intents=intents) == set()
    named = begun([{"name": "r", "match": {"route": "/a", "intent": "buy"}}], Telemetry(), intents=intents)
    assert {labels[:3] for labels in named} == {("r", "/a", "buy")}


def test_rules_leave_half_of_the_labels_to_runs() -> None:
    rules = [{"name": f"r{n}", "match": {"route": f"/{n}"}, "expect": {"forbid": [f"tool{n}"]}} for n in range(10)]
    telemetry = Telemetry(max_label_values=4)
    assert {labels[0] for labels in begun(rules, telemetry)} == {"r0", "r1"}
    assert [telemetry.label("route", route) for route in ("/a", "/b", "/c")] == ["/a", "/b", OVERFLOW]


def test_a_whole_trace_is_not_counted_as_one_more_run() -> None:
    telemetry = counted(verdict_of("a", outcomes=("matched",)), verdict_of("a", outcomes=("matched",), scope="trace"))
    assert labels_of(telemetry) == {"pass": 2}
    assert value(telemetry, "runs_total", release="root") == 1
    assert value(telemetry, "tool_calls_total", rule="weather", tool="a", outcome="matched") == 1


@pytest.mark.parametrize("scope", ["trace", "conversation"])
def test_a_call_that_a_rule_for_more_than_a_run_forbids_is_counted_under_that_rule(scope: str) -> None:
    run = verdict_of("a", "delete", outcomes=("matched", "extra"))
    wider: dict[str, Any] = {"scope": scope, "rule": "wider", "label": "fail", "outcomes": ("extra", "forbidden")}
    first = verdict_of("a", "delete", **wider)
    others = [
        verdict_of("a", "delete", **wider, **more) for more in ({"revision": 1}, {"judged": True}, {"shadow": True})
    ]
    telemetry = counted(run, first, *others)
    (family,) = [family for family in telemetry.registry.collect() if family.name == "rightcall_tool_calls"]
    assert {tuple(one.labels.values()): one.value for one in family.samples if one.name.endswith("_total")} == {
        ("weather", "a", "matched"): 1,
        ("weather", "delete", "extra"): 1,
        ("wider", "delete", "forbidden"): 1,
    }


def test_every_scorer_of_a_rule_has_its_series() -> None:
    telemetry = counted(verdict_of(evaluations=[evaluation(), evaluation("fail", 0.0, "evalite", primary=False)]))
    assert value(telemetry, "evaluations_total", **{**SERIES, "scorer": "evalite"}, label="fail") == 1


def test_routes_that_strangers_write_are_bounded() -> None:
    telemetry = Telemetry(max_label_values=2)
    counter = VerdictCounter(telemetry)
    for number in range(5):
        counter.count(verdict_of(run={"route": f"/user/{number}"}))
    counter.flush()
    routes = {
        sample.labels["route"]
        for family in telemetry.registry.collect()
        if family.name == "rightcall_evaluations"
        for sample in family.samples
    }
    assert routes == {"/user/0", "/user/1", "__other__"}
    assert value(telemetry, "label_overflow_total", label="route") == 3


def test_agents_that_strangers_name_are_bounded() -> None:
    telemetry = Telemetry(max_label_values=2)
    counter = VerdictCounter(telemetry)
    for number in range(5):
        counter.count(verdict_of(label="ambiguous", run={"agent": f"agent-{number}"}))
    counter.flush()
    assert {agent for _, _, agent in unscored_runs(telemetry)} == {"agent-0", "agent-1", "__other__"}


def test_combinations_of_labels_are_bounded_and_no_sample_is_lost() -> None:
    telemetry, of_each = Telemetry(max_label_values=8), range(8)
    counter = VerdictCounter(telemetry)
    runs = [{"route": f"/{route}", "agent": f"a{agent}"} for route in of_each for agent in of_each]
    for number, run in enumerate(runs):
        for rule in ("r", "s"):
            counter.count(verdict_of(f"t{number % 8}", rule=f"{rule}{number}", run=run))
    counter.flush()

    families = {family.name: family.samples for family in telemetry.registry.collect()}
    evaluations, calls = families["rightcall_evaluations"], families["rightcall_tool_calls"]
    kept, limit = {(one.labels["rule"], one.labels["route"]) for one in evaluations}, MAX_COMBINATIONS * 8
    assert len([one for one in kept if OVERFLOW not in one]) == limit
    assert sum(one.value for one in evaluations if one.name.endswith("_total")) == 2 * len(runs)
    assert len({one.labels["rule"] for one in calls if one.labels["tool"] != OVERFLOW}) == limit
    assert value(telemetry, "label_overflow_total", label="route_intent") == 2 * len(runs) - limit
    assert value(telemetry, "label_overflow_total", label="rule_tool") == 2 * len(runs) - limit


def test_combinations_of_unscored_runs_are_bounded() -> None:
    telemetry = Telemetry(max_label_values=12)
    counter = VerdictCounter(telemetry)
    for number in range(144):
        run = {"route": f"/{number // 12}", "agent": f"a{number % 12}"}
        counter.count(verdict_of(label="ambiguous", run=run))
    counter.flush()
    assert len([one for one in unscored_runs(telemetry) if OVERFLOW not in one]) == MAX_COMBINATIONS * 12


def test_the_listener_speaks_both_formats_and_knows_one_path() -> None:
    async def run() -> list[httpx.Response]:
        exporter = PrometheusExporter(PrometheusExporterConfig(endpoint="127.0.0.1:0"), counted(verdict_of("a")))
        await exporter.start()
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{exporter.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            openmetrics = {"accept": "application/openmetrics-text; version=1.0.0"}
            answers = [
                await client.get("/metrics"),
                await client.get("/metrics", headers=openmetrics),
                await client.get("/"),
            ]
        await exporter.shutdown()
        return answers

    plain, openmetrics, missing = asyncio.run(run())
    line = 'rightcall_evaluations_total{intent="",label="pass",route="",rule="weather",scorer="trajectory"} 1.0'
    assert line in plain.text.splitlines()
    assert any(text.startswith(line + ' # {trace_id="0102') for text in openmetrics.text.splitlines())
    assert missing.status_code == 404


class Slow(Collector):
    """Series that take until ``go_on`` to collect; counts how often, and at most at once, they were."""

    def __init__(self) -> None:
        self.go_on, self.times, self.now, self.most = threading.Event(), 0, 0, 0

    def collect(self) -> Iterator[Metric]:
        self.times, self.now = self.times + 1, self.now + 1
        self.most = max(self.most, self.now)
        self.go_on.wait(PATIENCE)
        self.now -= 1
        yield Metric("slow", "", "gauge")


def test_many_scrapers_at_once_cost_as_much_as_two() -> None:
    slow, telemetry = Slow(), counted(verdict_of("a"))
    slow.go_on.set()
    telemetry.registry.register(slow)
    slow.times = 0

    async def run() -> list[httpx.Response]:
        exporter = PrometheusExporter(PrometheusExporterConfig(endpoint="127.0.0.1:0"), telemetry)
        await exporter.start()
        handled = 0
        answer = exporter.handle

        async def counting(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal handled
            handled += 1
            await answer(scope, receive, send)

        exporter.handle = counting  # type: ignore[method-assign]
        slow.go_on.clear()
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{exporter.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            scrapes = [asyncio.create_task(client.get("/metrics", timeout=PATIENCE)) for _ in range(20)]
            await until(lambda: handled == len(scrapes) and slow.now)
            slow.go_on.set()
            answers = await asyncio.gather(*scrapes)
        await exporter.shutdown()
        return answers

    assert [answer.status_code for answer in asyncio.run(run())] == [200] * 20
    assert slow.most == 1
    assert slow.times <= 2


def test_a_final_scrape_is_waited_for_where_there_were_others() -> None:
    async def run() -> None:
        exporter = PrometheusExporter(PrometheusExporterConfig(endpoint="127.0.0.1:0"), counted())
        await exporter.start()
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{exporter.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            await asyncio.wait_for(exporter.final_scrape(), PATIENCE)  # nobody ever came
            await client.get("/metrics")
            waiting = asyncio.create_task(exporter.final_scrape())
            await client.get("/")
            await let_others_run()
            assert not waiting.done()
            await client.get("/metrics")
            await until(waiting.done)
        await exporter.shutdown()

    asyncio.run(run())


def test_metrics_that_cannot_be_rendered_are_a_failure_until_a_scrape_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> list[tuple[int, bool]]:
        telemetry = counted(verdict_of("a"))
        exporter = PrometheusExporter(PrometheusExporterConfig(endpoint="127.0.0.1:0"), telemetry)
        await exporter.start()
        found = []
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{exporter.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            for broken in (False, True, True, False):
                if broken:
                    telemetry.rules_info.labels("\ud800", "d").set(1)
                else:
                    telemetry.rules_info.clear()
                found.append(((await client.get("/metrics")).status_code, exporter.failing))
        await exporter.shutdown()
        return found

    assert asyncio.run(run()) == [(200, False), (500, True), (500, True), (200, False)]
    assert len(caplog.records) == 1


@settings(max_examples=30)
@given(hostile_text)
def test_every_text_makes_a_series_that_can_be_scraped(text: str) -> None:
    telemetry = counted(
        verdict_of(text or "x", outcomes=("matched",), rule=text, run={"route": text, "intent": text, "agent": text}),
        verdict_of(rule=None, evaluations=[], run={"route": text, "agent": text}),
    )
    for encoder in (generate_latest, openmetrics):
        lines = encoder(telemetry.registry).decode().split("\n")
        assert not {
            one for line in lines for one in line if category(one) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        }
        families = list(text_string_to_metric_families("\n".join(lines).removesuffix("# EOF\n")))
        assert "rightcall_tool_calls" in {family.name for family in families}


def test_what_showed_an_intent_is_counted_and_what_showed_none() -> None:
    looked = [FoundIntent("refund", "keyword", ""), FoundIntent(None, "none", ""), FoundIntent(None, "none", ""), None]
    telemetry = counted(*[verdict_of("a", run={"found_intent": found}) for found in looked])
    assert [value(telemetry, "intents_total", by=by) for by in ("keyword", "none", "example")] == [1, 2, 0]


@pytest.mark.parametrize("metric", ["evaluations", "evaluation_score", "tool_calls", "runs", "runs_unscored"])
def test_what_is_counted_of_a_run_leads_to_its_trace(metric: str) -> None:
    """The alert on forbidden calls is on tool_calls."""
    verdict, unsure = verdict_of("delete_order", outcomes=("forbidden",)), verdict_of("a", label="ambiguous")
    text = openmetrics(counted(verdict, unsure).registry).decode()  # type: ignore[no-untyped-call]
    counted_once = [
        line
        for line in text.splitlines()
        if line.startswith((f"rightcall_{metric}_total{{", f"rightcall_{metric}_bucket{{")) and " 0.0" not in line
    ]
    assert any(f'# {{trace_id="{verdict.run.trace_id.hex()}"}}' in line for line in counted_once)
