"""The JSON of the console: ``GET /runs`` and ``GET /runs/TRACE_ID``, which `rightcall explain --collector` reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.console.context import Context
from collector.console.raw_spans import as_otlp_json
from collector.console.request import BadQueryError, Reply, Request, number, page_size
from collector.runs.database import RunsDatabase
from collector.runs.queries import of_trace, page_of
from scorers.quoting import json_line

# Fewer digits would be the beginning of too many traces to mean one.
_TRACE_ID: Final = re.compile(r"[0-9a-f]{4,32}")


def runs(context: Context) -> Reply:
    """Returns a page of runs, the latest first, and where the next one begins. Raises BadQueryError."""
    request = context.request
    page = page_of(context.database, context.filter(), number(request.query, "after"), page_size(request.query))
    following = request.link(after=page.next) if page.next is not None else None
    return json_reply({"runs": [_listed(run) for run in page.runs], "next": following})


def trace(database: RunsDatabase, request: Request) -> Reply:
    """Returns the explained verdicts of one trace; the beginning of its id suffices. Raises BadQueryError."""
    rows = of_trace(database, trace_id_of(request.path))
    if not rows:
        return _unknown()
    return json_reply({"trace_id": rows[0]["trace_id"], "runs": rows})


def spans(database: RunsDatabase, request: Request) -> Reply:
    """Returns the stored spans of one trace as OTLP/JSON. Raises BadQueryError."""
    rows = of_trace(database, trace_id_of(request.path.removesuffix("/spans")))
    if not rows:
        return _unknown()
    return Reply(200, as_otlp_json(database, rows[0]["trace_id"]), "application/json")


def trace_id_of(path: str) -> str:
    """Returns the trace id at the end of a path. Raises BadQueryError."""
    trace_id = path.rpartition("/")[2].lower().replace("-", "")
    if not _TRACE_ID.fullmatch(trace_id):
        raise BadQueryError("a trace id is 32 hexadecimal digits; at least the first 4 are needed")
    return trace_id


def json_reply(value: Mapping[str, Any], status: int = 200) -> Reply:
    """Returns an answer in JSON."""
    return Reply(status, json_line(value).encode() + b"\n", "application/json")


def _unknown() -> Reply:
    return json_reply({"error": "no run of this trace is stored, or the id stands for more than one"}, 404)


def _listed(run: Mapping[str, Any]) -> dict[str, Any]:
    named = {**run, "trace_id": run["trace"], "span_id": run["span"], "shadow": bool(run["shadow"])}
    # Numbers of rows are the store's own; `next` holds what a client needs of them.
    return {key: value for key, value in named.items() if key not in ("id", "trace", "span")}
