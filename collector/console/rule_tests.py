"""Stored runs as tests of rules, in the form that `rightcall check` runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from collector.console.context import Context
from collector.console.request import Reply, number
from collector.runs.queries import latest
from collector.runs.rows import Row
from scorers.quoting import shorten, yaml_line

MAX_TESTS: Final = 50
"""Runs that are made tests at once."""


def exported(context: Context) -> Reply:
    """Returns the runs that a query asks for as tests, the latest first. Raises BadQueryError."""
    rows = latest(context.database, context.filter(), MAX_TESTS, number(context.request.query, "after"))
    text = as_tests(filter(is_exportable, rows))
    return Reply(200, text.encode(), "application/yaml; charset=utf-8")


def as_tests(rows: Iterable[Row]) -> str:
    """Returns runs as ``tests:`` of a rule file, as they were scored: correct ``passes`` where the verdict was wrong."""
    return "".join(["tests:\n", *(line + "\n" for row in rows for line in _test(row))])


def _test(row: Row) -> Iterator[str]:
    asked = shorten(" ".join((row["user_input"] or "").split()), 60)
    name = f"{asked} ({row['trace_id'][:12]})".strip()
    yield f"  - name: {yaml_line(name)}"
    yield f"    rule: {yaml_line(row['rule'])}"
    yield "    calls:" + ("" if row["tool_calls"] else " []")
    for _, together in groupby(row["tool_calls"], key=lambda call: call["step"]):
        calls = [yaml_line(_call(call)) for call in together]
        yield f"      - {calls[0]}" if len(calls) == 1 else f"      - {{parallel: [{', '.join(calls)}]}}"
    if row["label"] in ("pass", "fail"):
        yield f"    passes: {'true' if row['label'] == 'pass' else 'false'}"
    else:
        yield f"    passes: true  # it was {row['label']}: decide"


def _call(call: Mapping[str, Any]) -> Any:
    plain = call["status"] != "error" and call["executed"]
    if plain and call["arguments"] is None:
        return call["name"]
    # A tool with one of these names would be read as a key of the long form.
    if plain and call["name"] not in ("tool", "parallel", "arguments", "status", "executed"):
        return {call["name"]: call["arguments"]}
    found: dict[str, Any] = {"tool": call["name"]}
    if call["arguments"] is not None:
        found["arguments"] = call["arguments"]
    return {**found, "status": call["status"], "executed": call["executed"]}


def is_exportable(row: Row) -> bool:
    """Whether a test can say what the run did: nothing of it was left out."""
    calls: Sequence[Any] = row["tool_calls"]
    return bool(row["rule"]) and not row["cut"] and bool(calls or row["label"])
