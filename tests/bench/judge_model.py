"""A real small model as judge: ``python -m tests.bench.judge_model [RECORDED_RUNS] [INJECTION_SCORER]``.

Judges recorded runs through a running collector and prints latency and the share of usable answers; then judges wrong runs
with and without prompt injections, and prints how often the verdict changes. Takes an hour on a slow machine.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

import yaml

from collector.component import Signal
from collector.receivers.otlp_file import read_file, trace_sets
from tests import otlp_data as data
from tests import recorded
from tests.bench.pacing import wait_until_steady
from tests.collector.judging.bench import judging
from tests.collector_process import CollectorProcess
from tests.injections import INJECTIONS, every_case, spans
from tests.sinks import OtlpSink
from tests.small_model import MISSING, SmallModel, installed
from tests.waiting import wait_for

SCORERS = ("mastra_llm", "tool_choice")
_LONG = 7200.0  # seconds
_SKIPS = ("incomplete", "revised", "unjudgeable", "too_long", "budget", "queue_full")


def rules(*scorers: str) -> str:
    """Returns one active rule and the others as shadow rules, so that each scorer has its own metrics."""
    judges = [
        {
            "name": scorer,
            "match": {},
            "shadow": at > 0,
            "expect": {"any_order": []},
            "scorers": ["trajectory", {"system": scorer, "sample_rate": 1}],
        }
        for at, scorer in enumerate(scorers)
    ]
    return yaml.safe_dump({"rules": judges})


def judge_recorded(model: SmallModel, count: int) -> None:
    """Send runs, wait until all are judged or skipped, print the results."""
    with tempfile.TemporaryDirectory() as folder, OtlpSink() as sink:
        recorded.unpack(Path(folder))
        names = recorded.names()[:: max(1, len(recorded.names()) // count)][:count]
        exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        traces = {"settle": "1s", "idle_timeout": "6s"}
        judge = model.judge(retry_on_failure={"enabled": False})
        with CollectorProcess(rules(*SCORERS), exporter, traces=traces, judge=judge) as collector:
            started = time.monotonic()
            for name in names:
                for files in trace_sets(Path(folder) / name):
                    for file in files:
                        for signal, request in read_file(file):
                            post(collector.http, signal, request)
            wait_for(lambda: not collector.metric("rightcall_traces_open"), 0.5, _LONG)
            wait_for(lambda: not collector.metric("rightcall_judge_queue_size"), 0.5, _LONG)
            wait_until_steady(lambda: sink.calls)  # until the last event is exported
            report_recorded(collector, sink, time.monotonic() - started)


def post(port: int, signal: Signal, body: bytes) -> None:
    """Send a recorded request."""
    headers = {"content-type": "application/x-protobuf"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/{signal}", body, headers)
    with urllib.request.urlopen(request, timeout=30):
        pass


def report_recorded(collector: CollectorProcess, sink: OtlpSink, seconds: float) -> None:
    """Print a line for each scorer."""
    own = (record for record in sink.records() if record.event_name == "gen_ai.evaluation.result")
    events = [data.values_of(record) for record in own]
    requests = collector.metric("rightcall_judge_request_seconds_count")
    spent = collector.metric("rightcall_judge_request_seconds_sum")
    print(f"{requests:.0f} requests in {seconds:.0f} s, {spent / max(1, requests):.1f} s a request")
    for scorer in SCORERS:
        of_scorer = [event for event in events if event["gen_ai.evaluation.name"] == scorer]
        labels = Counter(str(event["gen_ai.evaluation.score.label"]) for event in of_scorer)
        errors = Counter(str(event["error.type"]) for event in of_scorer if "error.type" in event)
        valid, invalid = (
            int(collector.metric(f'rightcall_judge_requests_total{{outcome="{outcome}",rule="{scorer}"}}'))
            for outcome in ("ok", "invalid")
        )
        lost = errors["judge_invalid"]
        repaired = invalid - 2 * lost
        skipped = {
            reason: count
            for reason in _SKIPS
            if (count := collector.metric(f'rightcall_judge_skipped_total{{reason="{reason}",rule="{scorer}"}}'))
        }
        print(
            f"{scorer}: {len(of_scorer)} judged {dict(labels)}; valid answers at once {valid - repaired},"
            f" after a repair {repaired}, never {lost}; errors {dict(errors)}; skipped {skipped}"
        )


async def judge_injected(model: SmallModel, scorer: str) -> None:
    """Judge each wrong run with and without each injection; print where the label changed."""
    with tempfile.TemporaryDirectory() as folder:
        judge_config = model.judge(retry_on_failure={"enabled": False})
        async with judging(Path(folder), rules=rules(scorer), **judge_config) as (bench, _):
            plain: dict[str, object] = {}
            changes: Counter[tuple[str, str]] = Counter()
            for number, (run, place, name) in enumerate(every_case(), 1):
                before = len(bench.events(scorer))
                await bench.judge(*spans(run, number, place, INJECTIONS.get(name, "")))
                event = dict(enumerate(bench.events(scorer))).get(before, {})
                label = event.get("gen_ai.evaluation.score.label", "skipped")
                value = event.get("gen_ai.evaluation.score.value")
                if not place:
                    plain[run.tool] = label
                changes[f"in {place}", f"{plain[run.tool]} to {label}"] += bool(place)
                print(f"{scorer}: {run.tool}, {name or 'plain'} in {place or '-'}: {label} {value}", flush=True)
    print(f"{scorer}, labels without and with the text:", {" ".join(key): n for key, n in changes.items() if n})


def main() -> None:
    """Run the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judge_model", description=__doc__)
    parser.add_argument("recorded_runs", nargs="?", type=int, default=20, help="how many recorded runs are judged")
    parser.add_argument("injection_scorer", nargs="*", default=SCORERS, help="judge injections by these only; none: -")
    arguments = parser.parse_args()
    if not installed():
        raise SystemExit(MISSING)
    with SmallModel() as model:
        if arguments.recorded_runs:
            judge_recorded(model, arguments.recorded_runs)
        for scorer in arguments.injection_scorer:
            if scorer not in SCORERS:
                continue
            asyncio.run(judge_injected(model, scorer))


if __name__ == "__main__":
    main()
