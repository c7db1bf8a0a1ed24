"""The list of runs, with all that it is filtered by in the URL."""

from __future__ import annotations

from typing import Final

from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import RANGES, Reply, number, page_size
from collector.runs.queries import FILTERS, MAX_SEARCHED, page_of, values_of

_OFFERED: Final = ("rule", "agent", "route", "intent")
LABELS: Final = ("wrong", "undecided", "pass", "fail", "incomplete", "ambiguous", "error", "no_rule")
"""What runs are filtered by; the first two stand for several labels."""


def run_list(context: Context) -> Reply:
    """Returns the page. Raises BadQueryError."""
    request = context.request
    found = page_of(
        context.database,
        context.filter(),
        number(request.query, "after"),
        page_size(request.query),
    )
    # Where the page begins is no filter, and makes no sense once a filter is removed.
    active = [(name, value) for name, value in request.query.items() if name not in ("after", "limit")]
    return page(
        "runs.html",
        **context.common("Runs"),
        runs=found.runs,
        older=request.link(after=found.next) if found.next is not None else None,
        newest=request.link(after=None) if "after" in request.query else None,
        active=[(name, value, request.link(**{name: None, "after": None})) for name, value in active],
        offered=values_of(context.database, _OFFERED, request.now - RANGES["30d"]),
        labels=LABELS,
        searched=MAX_SEARCHED,
        ranges=list(RANGES),
        more=[name for name in (*FILTERS, *context.dimensions) if name not in (*_OFFERED, "label")],
        as_json=request.link("/runs"),
        as_tests=request.link("/console/tests"),
    )
