"""The effect of a judge on the latency of spans: ``python -m tests.bench.judge_latency [SPANS_PER_SECOND]`` prints a line each.

Every run is judged (``sample_rate: 1``), mostly with an unlimited budget, by a judge that answers, hangs, fails or is
unreachable.
"""

from __future__ import annotations

import argparse
import json
import socket
from collections.abc import Callable
from typing import Any

import yaml

from tests.bench.end_to_end import latency
from tests.bench.load import RULES
from tests.judge_server import HANGS, HANGS_MID_BODY, JudgeServer, Question, Reply, fails, says

_RATE = 5_000.0
_UNLIMITED = {
    "requests_per_minute": 10**9,
    "requests_per_day": 10**9,
    "tokens_per_minute": 10**12,
    "tokens_per_day": 10**12,
}
_GOOD = says(json.dumps({"evaluations": [{"toolCalled": "t", "wasAppropriate": True, "reasoning": "so"}]}))
_JUDGES: dict[str, Callable[[Question], Reply]] = {
    "answers": lambda _: _GOOD,
    "answers 500": lambda _: fails(500),
    "hangs": lambda _: HANGS,
    "hangs mid-body": lambda _: HANGS_MID_BODY,
}


def judged_rules() -> str:
    """Returns the rules of the reference mix, with every run judged."""
    rules = yaml.safe_load(RULES)
    for rule in rules["rules"]:
        rule["scorers"] = ["trajectory", {"system": "mastra_llm", "sample_rate": 1}]
    return yaml.safe_dump(rules)


def measure(name: str, rate: float, endpoint: str, **judge_config: Any) -> None:
    """Measure with one kind of judge, and print a line."""
    judge = {"endpoint": endpoint, "model": "m", "timeout": "5s", "cache": {"max_entries": 0}, **judge_config}
    show(name, latency(rate, rules=judged_rules(), judge=judge))


def show(name: str, found: dict[str, float]) -> None:
    """Print a line of the table."""
    print(
        f"{name:<16} p50 {found['p50_ms']:6.2f} ms   p99 {found['p99_ms']:6.2f} ms   lost {found['probes_lost']}",
        flush=True,
    )


def main() -> None:
    """Measure every kind of judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judge_latency", description=__doc__)
    parser.add_argument("spans_per_second", nargs="?", type=float, default=_RATE)
    rate: float = parser.parse_args().spans_per_second
    show("no judge", latency(rate))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        unreachable = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    measure("unreachable", rate, unreachable, budget=_UNLIMITED)
    with JudgeServer(lambda _: _GOOD) as server:
        measure("default budget", rate, server.endpoint)
    for name, script in _JUDGES.items():
        with JudgeServer(script) as server:
            measure(name, rate, server.endpoint, budget=_UNLIMITED)
    show("no judge, again", latency(rate))


if __name__ == "__main__":
    main()
