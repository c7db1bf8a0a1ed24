"""How costs grow with what grows: ``make bench-growth`` prints them as a table. Tests hold the laws, in counted operations."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from prometheus_client import generate_latest

from collector.results.verdict_counter import VerdictCounter
from collector.scoring.conversations import conversations_of
from collector.scoring.rule_files import LoadedRules, check_rules, load_rules
from collector.telemetry.metrics import Telemetry
from scorers.rules.intents import Expressions
from scorers.rules.model import Intent, Match
from scorers.rules.selection import CompiledMatch, RuleContext, RuleIndex
from tests import otlp_data as data
from tests.collector.verdicts import run_of, verdict_of
from tests.harness import Bench
from tests.operations import calls
from tests.sessions import LOCAL, REMOTE, Session

_MATCHES: dict[str, tuple[Callable[[int], dict[str, Any]], RuleContext]] = {
    "exact route": (lambda at: {"route": f"/r{at}"}, RuleContext(route="/r7")),
    "glob": (lambda at: {"route": f"/r{at}/*"}, RuleContext(route="/r7/x")),
    "one route, many agents": (lambda at: {"route": "/", "agent": f"a{at}"}, RuleContext(route="/", agent="a7")),
    "attribute": (lambda at: {"attributes": {"team": f"t{at}"}}, RuleContext(attributes={"team": "t7"})),
    "anchored regex": (lambda at: {"attributes": {"x": {"regex": f"^t{at}$"}}}, RuleContext(attributes={"x": "t7"})),
    "regex": (lambda at: {"attributes": {"x": {"regex": f"t{at}x"}}}, RuleContext(attributes={"x": "other"})),
}


class Cost(NamedTuple):
    """What one piece of work costs where there are ``size`` of what grows."""

    what: str
    size: int
    operations: int
    milliseconds: float


class _Selectable:
    def __init__(self, match: dict[str, Any]) -> None:
        self.match = CompiledMatch(Match.model_validate(match))


def costs(sizes: tuple[int, ...], folder: Path) -> Iterator[Cost]:
    """Measure every kind of work at each size."""
    for size in sizes:
        yield from _selection(size)
        yield from _loading(size, folder)
        yield from _series(size)
        yield _nested(size)
        yield _session(size // 10, folder, "a turn of a session", flags=REMOTE)
        yield _session(size // 10, folder, "a turn in a span that is open", flags=LOCAL)


def _selection(size: int) -> Iterator[Cost]:
    for kind, (match, context) in _MATCHES.items():
        index = RuleIndex([_Selectable(match(at)) for at in range(size)])
        yield _cost(f"select a rule: {kind}", size, partial(index.select, context))
    expressions = Expressions(
        [Intent(name=f"i{at}", keywords=[f"word{at} {n}" for n in range(6)]) for at in range(size)]
    )
    yield _cost("find an intent", size, lambda: expressions.find("nothing of this is a keyword, " * 7))


def _loading(size: int, folder: Path) -> Iterator[Cost]:
    path = folder / "rules.yaml"
    lines = [f"  - {{name: r{at}, match: {{route: /r{at}}}, expect: {{sequence: [a, b]}}}}" for at in range(size)]
    path.write_text("\n".join(["rules:", *lines]))
    found: list[LoadedRules] = []
    yield _cost("load rules", size, lambda: found.append(load_rules([path])))
    yield _cost("load rules again", size, lambda: load_rules([path], found[0]))
    yield _cost("check rules", size, lambda: check_rules([path]))


def _series(size: int) -> Iterator[Cost]:
    telemetry = Telemetry()
    counter = VerdictCounter(telemetry)
    for at in range(size):
        for intent in range(10):
            counter.count(verdict_of(run={"route": f"/{at}", "intent": f"i{intent}"}))
    counter.flush()
    yield _cost("scrape: routes x 10 intents", size, lambda: generate_latest(telemetry.registry))


def _nested(size: int) -> Cost:
    outer = run_of(number=1, conversation_id="one")
    others = [
        run_of(number=at, conversation_id="two", start_ns=at, parent_span_id=data.span_id(at - 1))
        for at in range(2, size + 1)
    ]
    return _cost("conversations of nested agents", size, lambda: conversations_of([outer, *others]))


def _session(turns: int, folder: Path, what: str, flags: int) -> Cost:
    """The next turns of a session of so many."""
    session = Session(Bench(folder), flags)
    for _ in range(turns):
        session.turn()
    return _cost(what, turns, session.turn)


def _cost(what: str, size: int, work: Callable[[], object]) -> Cost:
    began = time.process_time()
    work()
    taken = time.process_time() - began
    return Cost(what, size, calls(work), 1000 * taken)


def table(measured: list[Cost]) -> str:
    """Returns the costs as a table: a row for each kind of work, operations and milliseconds by size."""
    kinds: dict[str, list[Cost]] = {}
    for cost in measured:
        kinds.setdefault(cost.what, []).append(cost)
    lines = ["operations (milliseconds of CPU) by size"]
    for kind, found in kinds.items():
        cells = (f"{cost.size:>6,}: {cost.operations:>10,} ({cost.milliseconds:,.1f})" for cost in found)
        lines.append(f"{kind:34}" + "".join(f"{cell:34}" for cell in cells).rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__).parse_args()
    with TemporaryDirectory() as made:
        print(table(list(costs((100, 300, 1_000), Path(made)))))
