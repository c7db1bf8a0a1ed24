"""The rules: what each matched, how its runs did, which never match; and a pad on which others are tried on stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import RANGES, Reply
from collector.console.scratch import Tried
from collector.console.statistics import Share, accuracy
from collector.runs.queries import Counted, counted_by
from scorers import CompiledRule
from scorers.quoting import json_line, shorten
from scorers.rules.names import format_name
from scorers.rules.selection import MATCH_KEYS

EXAMPLE: Final = """\
rules:
  - name: tried
    match: {agent: "*"}
    expect:
      sequence: [first_tool, second_tool]
    pass: 0.9
"""
"""What the pad holds at first."""


class RuleRow(NamedTuple):
    """A rule in force, and its runs in the period."""

    name: str
    scope: str
    shadow: bool
    match: str
    digest: str
    pass_at: float
    objective: float | None
    counted: Counted
    share: Share | None
    other_digests: Sequence[tuple[str, Counted, Share | None]]
    """Earlier versions of the rule in the same period."""


def rules_page(context: Context, edited: str = "", tried: Tried | None = None, mistake: str = "") -> Reply:
    """Returns the page, with the result of the pad if there is one. Raises BadQueryError."""
    request = context.request
    query = {**request.query, "range": context.range}
    counted = counted_by(context.database, ["rule", "digest", "shadow"], context.filter(query))
    return page(
        "rules.html", **context.common("Rules"),
        rules=[_row(rule, counted) for rule in context.rules.set.rules],
        remarks=[remark.text for remark in context.rules.remarks],
        gone=sorted({key[0] for key in counted if key[0]} - {rule.rule.name for rule in context.rules.set.rules}),
        ranges=list(RANGES), range=query["range"], edited=edited or EXAMPLE, tried=tried, mistake=mistake,
    )  # fmt: skip


def _row(compiled: CompiledRule, counted: Mapping[tuple[Any, ...], Counted]) -> RuleRow:
    rule = compiled.rule
    own = counted.get((rule.name, compiled.digest, int(rule.shadow)), Counted())
    others = [(key[1], found) for key, found in counted.items() if key[0] == rule.name and key[1] != compiled.digest]
    return RuleRow(
        rule.name, rule.scope, rule.shadow, _match(compiled), compiled.digest, rule.pass_, rule.objective, own,
        accuracy(own), [(digest, found, accuracy(found)) for digest, found in others],
    )  # fmt: skip


def _match(compiled: CompiledRule) -> str:
    match = compiled.rule.match
    keys = {key: name for key in MATCH_KEYS if (name := getattr(match, key)) is not None}
    shown = [f"{key} {format_name(name)}" for key, name in {**keys, **match.attributes}.items()]
    return shorten(", ".join(shown), 200) or f"every {json_line(compiled.rule.scope)[1:-1]}"
