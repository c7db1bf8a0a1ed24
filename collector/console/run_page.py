"""One trace: what was expected and what was called, when, how it is known, and what the score is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.console.api import trace_id_of
from collector.console.charts import lanes
from collector.console.context import Context
from collector.console.raw_spans import shown
from collector.console.rendering import page
from collector.console.request import Reply
from collector.console.rule_tests import as_tests, is_exportable
from collector.runs.queries import number_of_trace, of_trace
from collector.runs.rows import Row

KNOWN_BY: Final[Mapping[str, str]] = {
    "span": "its span",
    "result": "its result, told in a later request",
    "request": "a model's request only",
}
"""How a call is known, for people."""
_MAX_SHOWN: Final = 300


def run_page(context: Context) -> Reply:
    """Returns the page. Raises BadQueryError."""
    rows = of_trace(context.database, trace_id_of(context.request.path))
    common = context.common("Run")
    if not rows:
        return page("no_run.html", 404, **common)
    trace_id = rows[0]["trace_id"]
    spans, has_all_spans = shown(context.database, trace_id)
    return page(
        "run.html",
        **common,
        trace_id=trace_id,
        verdicts=[_shown(row) for row in rows],
        stored=number_of_trace(context.database, trace_id),
        trace_link=_link(context.config.trace_url, trace_id),
        log_link=_link(context.config.log_url, trace_id),
        known_by=KNOWN_BY,
        spans=spans,
        has_all_spans=has_all_spans,
    )


def _shown(row: Row) -> dict[str, Any]:
    differing = [line for line in row["difference"] if line["outcome"] not in ("matched", "unscored")]
    compared = row["difference"] if len(row["difference"]) <= _MAX_SHOWN else differing[:_MAX_SHOWN]
    primary = next((one for one in row["evaluations"] if one["name"] == row["primary"]), None)
    return {
        "row": row,
        "label": row["label"] or "no_rule",
        "primary": primary,
        "lanes": lanes(row["tool_calls"]),
        "calls": row["tool_calls"][:_MAX_SHOWN],
        "left_out": max(0, len(row["tool_calls"]) - _MAX_SHOWN),
        "compared": compared,
        "test": as_tests([row]) if is_exportable(row) else None,
    }


def _link(template: str | None, trace_id: str) -> str | None:
    return None if template is None else template.replace("{trace_id}", trace_id)
