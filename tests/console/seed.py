"""A store of runs with a history, as a collector writes it, in which a release made one of the agents worse."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from collector.config.model import RedactionConfig
from collector.offline.score import score_requests
from collector.results.redaction import Redaction
from collector.runs.database import RunsDatabase
from collector.runs.record import Recorder, Submitted
from collector.runs.rows import Row
from collector.runs.tally import Tally
from collector.scoring.rule_files import load_rules
from collector.scoring.verdict import Verdict
from tests import otlp_data as data

RULES = """
rules:
  - name: refund
    match: {agent: support}
    expect:
      sequence: [{tool: lookup_order, arguments: {order_id: {regex: "^ord_"}}}, check_policy, refund_card]
      forbid: ["delete_*"]
    pass: 0.9
    objective: 0.95
  - {name: booking, match: {agent: travel}, expect: {sequence: [search_flights, book_flight, send_email]}, pass: 0.9,
     objective: 0.8}
"""
WORSE = "2.4.0"
"""The version whose support agent looks orders up by number."""
_RUNS = {  # agent and what it calls, with its share of the traffic before and after the release
    ("support", (("lookup_order", '{"order_id": "ord_7"}'), ("check_policy", None), ("refund_card", None))): (50, 38),
    ("support", (("lookup_order", '{"order_id": "7"}'), ("check_policy", None), ("refund_card", None))): (1, 12),
    ("support", (("lookup_order", '{"order_id": "ord_7"}'), ("delete_order", None))): (1, 1),
    ("travel", (("search_flights", "{}"), ("book_flight", "{}"), ("send_email", "{}"))): (40, 40),
    ("travel", (("search_flights", "{}"), ("send_email", "{}"))): (4, 4),
    ("research", (("web_search", '{"q": "weather"}'),)): (6, 6),
}


def verdicts(folder: Path) -> dict[str, list[tuple[Verdict, tuple[int, int]]]]:
    """A verdict for each kind of run and version, with its share of the traffic before and after the release."""
    (folder / "seed.yaml").write_text(RULES)
    rules = load_rules([folder / "seed.yaml"])
    found: dict[str, list[tuple[Verdict, tuple[int, int]]]] = {"2.3.1": [], WORSE: []}
    for version, kinds in found.items():
        for number, ((agent, calls), share) in enumerate(_RUNS.items(), 1):
            trace = bytes([number]) * 16
            spans = [
                data.tool(at, 1, name, at=at * 0.4, trace_id=trace, **_given(arguments))
                for at, (name, arguments) in enumerate(calls, 2)
            ]
            anchor = data.agent(1, name=agent, trace_id=trace, http__route=f"/chat/{agent}")
            request = data.traces(*spans, anchor, service="assistant")
            request.resource_spans[0].resource.attributes.extend(data.attributes({"service.version": version}))
            (verdict,) = score_requests([("seed", "traces", request.SerializeToString())], rules)
            kinds.append((verdict, share))
    return found


def _given(arguments: str | None) -> dict[str, Any]:
    return {} if arguments is None else {"gen_ai__tool__call__arguments": arguments}


def fill(folder: Path, now: int, runs: int = 400, hours: int = 24, per_step: int = 60) -> None:
    """Write a store into ``folder`` with ``runs`` runs over the last ``hours``; the release was in the middle of them."""
    random, database, recorder = Random(5), RunsDatabase(folder, 1 << 30), Recorder(Redaction(RedactionConfig()))
    database.open()
    kinds, rules = verdicts(folder), load_rules([folder / "seed.yaml"]).set.rules
    made: dict[int, Row] = {}
    steps = hours * 12
    for step in range(steps):
        at = now - (steps - step) * 300
        released = step >= steps // 2
        chosen = kinds[WORSE if released else "2.3.1"]
        picked = random.choices(chosen, [share[released] for _, share in chosen], k=per_step)
        tally = Tally()
        for verdict, _ in picked:
            tally.add(verdict)
        stored = max(1, runs // steps)
        sample = random.choices(picked, k=stored)
        if not step:  # a collector stores every run that fails while there are few
            sample[0] = next(one for one in chosen if one[0].label == "fail")
        rows = (
            {
                **made.setdefault(id(v), recorder.row(Submitted(v, 0.0, per_step / stored, cut=False), rules)),
                **_own(random, at),
            }
            for v, _ in sample
        )
        database.write(rows, tally.take(), at)
    database.prune(now, 1e9)
    database.close()


def _own(random: Random, at: int) -> dict[str, Any]:
    return {"trace_id": random.randbytes(16).hex(), "at": at + random.random() * 300}
