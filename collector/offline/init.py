"""The first files of a project: a rule file with a test, and a configuration, from recorded runs or from nothing.

The rule for each agent expects what most of its recorded runs did. That is a start to correct, not a truth: whatever the
agents do wrong today is in it too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from collector.errors import RightcallError
from collector.reconstruction.run import Run
from scorers.quoting import shorten
from scorers.rules.names import exactly

MAX_AGENTS = 50
"""Agents that get a rule, those with the most runs first."""
_MAX_CALLS = 50  # of an expected run
_MAX_EXTRA = 20


class InitError(RightcallError):
    """A file is already there."""


RULES, CONFIG = Path("rules") / "agents.yaml", Path("collector.yaml")

_HEAD = """\
# What the runs of your agents must look like. First match wins; scorers/README.md explains every key.
#   rightcall check rules/                          validates this file and runs its tests
#   rightcall score --rules rules/ traces/          scores recorded runs, and exits 1 where a forbidden tool was called
rules:
"""

_EXAMPLE = """\
  - name: refund
    match: {agent: "support-*"}             # also route, intent, service, tenant, attributes; {} matches every run
    expect:
      sequence:                             # these calls, in this order
        - tool: lookup_order
          arguments: {order_id: {regex: "^ord_"}}
        - check_policy
        - one_of: [refund_card, refund_credit]
      allow_extra: ["log_*"]                # may be called besides, at no cost
      forbid: ["delete_*"]                  # must never be called
    pass: 0.9                               # the lowest score that passes

tests:                                      # run by `rightcall check`
  - name: looks the order up before it refunds
    rule: refund
    calls: [lookup_order: {order_id: ord_7}, check_policy, refund_card]
    passes: true
  - name: refunds blindly
    rule: refund
    calls: [refund_card]
    passes: false
"""

_CONFIG = """\
# rightcall run --config collector.yaml; `rightcall schema config` lists every key with its default.
receivers: {otlp: {protocols: {grpc: {endpoint: 127.0.0.1:4317}, http: {endpoint: 127.0.0.1:4318}}}}
rules: [rules/]
spool: memory                               # or {path: FOLDER}, which survives a restart
exporters:
  # otlp: {endpoint: "tempo:4317", tls: {insecure: true}}      # where spans and verdicts go on to
  prometheus: {endpoint: 127.0.0.1:9464}
"""


def init(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Write the files and return their paths. Raises InitError if one exists, OSError if one cannot be written."""
    text = _HEAD + ("".join(_rules(runs)) if any(run.agent for run in runs) else _EXAMPLE)
    files = {folder / RULES: text, folder / CONFIG: _CONFIG}
    # All are looked at before the first is written: there is no half of a project.
    for path in files:
        if path.exists():
            raise InitError(f"{path}: is already there, and stays as it is; name another folder")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return list(files)


def _rules(runs: Iterable[Run]) -> Iterator[str]:
    """Yield a rule for each agent, then a test for each rule."""
    by_agent: dict[str, list[Run]] = {}
    for run in runs:
        if run.agent:
            by_agent.setdefault(run.agent, []).append(run)
    agents = sorted(by_agent, key=lambda agent: -len(by_agent[agent]))[:MAX_AGENTS]
    names = _distinct([shorten(agent) for agent in agents])
    tests = []
    for agent, name in zip(agents, names, strict=True):
        # A run as it was, and no pattern made of several: something true to start from. `learn` makes patterns.
        usual, count = Counter(map(_called, by_agent[agent])).most_common(1)[0]
        others = sorted({tool for run in by_agent[agent] for tool in _called(run)} - set(usual))[:_MAX_EXTRA]
        yield f"  - name: {json.dumps(name)}\n    match: {{agent: {_name(agent)}}}\n    expect:\n"
        yield f"      # {count} of {len(by_agent[agent])} recorded runs made these calls; keep what is right, and say\n"
        yield "      # which may come in any order (any_order), be left out (optional) or take each other's place (one_of).\n"
        yield f"      sequence: [{', '.join(map(_element, usual))}]\n"
        if others:
            yield f"      allow_extra: [{', '.join(map(_name, others))}]      # in other runs\n"
        yield '      # forbid: ["delete_*"]                # tools that must never be called\n    pass: 0.9\n\n'
        calls = ", ".join(map(json.dumps, usual))
        tests.append(f"  - {{name: what most runs do, rule: {json.dumps(name)}, calls: [{calls}], passes: true}}\n")
    yield "tests:                                      # run by `rightcall check`\n"
    yield from tests


def _called(run: Run) -> tuple[str, ...]:
    return tuple(call.name for call in run.trajectory.calls if call.executed and call.name)[:_MAX_CALLS]


def _element(tool: str) -> str:
    name = _name(tool)
    return f"{{tool: {name}}}" if name.startswith("{") else name


def _name(text: str) -> str:
    return json.dumps(exactly(text))  # JSON is YAML


def _distinct(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found
