"""Verdicts as rows, and rows as JSON lines, a table, JUnit XML or Markdown.

Names and texts in a row are as they were received: hostile. Each format escapes them where it writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

from collector.scoring.verdict import Verdict
from scorers import ToolCall
from scorers.quoting import json_line, printable

Row = dict[str, Any]


def row_of(verdict: Verdict) -> Row:
    """What one rule says of an agent run, or of the trace or conversation that begins with it."""
    run, outcomes = verdict.run, verdict.outcomes if verdict.rule else None
    row = {
        "trace_id": run.trace_id.hex(),
        "span_id": run.span_id.hex(),
        "parent_span_id": run.parent_span_id.hex() if run.parent_span_id else None,
        "agent": run.agent,
        "conversation_id": run.conversation_id,
        "route": run.route,
        "intent": run.intent,
        "user_input": run.user_input,
        "dialect": run.dialect,
        "complete": verdict.complete,
        "doubts": list(verdict.doubts),
        "release": verdict.release,
        "tool_calls": [
            _call(call, outcomes[index] if outcomes else None) for index, call in enumerate(run.trajectory.calls)
        ],
        "rule": verdict.rule,
        "evaluations": [
            {
                "name": evaluation.name,
                "value": evaluation.score.value,
                "label": evaluation.score.label,
                "explanation": evaluation.score.explanation,
                "details": dict(evaluation.score.details),
            }
            for evaluation in verdict.evaluations
        ],
    }
    if run.found_intent is not None:
        row["intent_reason"] = run.found_intent.reason
    if verdict.scope != "run":
        row["scope"] = verdict.scope
    if verdict.shadow:
        row["shadow"] = True
    return row


def _call(call: ToolCall, outcome: str | None) -> Row:
    row = {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": call.status,
        "error_type": call.error_type,
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "span_id": call.span_id,
        "executed": call.executed,
        "known_by": call.known_by,
        "step": call.step,
        "outcome": outcome,
    }
    if call.arguments_text is not None:
        row["arguments_text"] = call.arguments_text
    return row


def jsonl(rows: Sequence[Row]) -> str:
    """One JSON object a line, one line an agent run.

    What other rules than the one in force for the run say (on its trace, on its conversation, a shadow rule) stands under
    ``also`` of the run they are anchored at.
    """
    lines: list[Row] = []
    line_of: dict[tuple[str, str], Row] = {}
    for row in rows:
        anchor = (row["trace_id"], row["span_id"])
        if _is_plain(row):
            lines.append(line := dict(row))
            line_of[anchor] = line
        else:
            told = {"scope": row.get("scope", "run"), "shadow": row.get("shadow", False)}
            line_of[anchor].setdefault("also", []).append({**told, **{name: row[name] for name in _ALSO}})
    return "".join(json_line(line) + "\n" for line in lines)


_ALSO = ("complete", "doubts", "release", "tool_calls", "rule", "evaluations")


def _is_plain(row: Row) -> bool:
    """Whether it is the row of the run itself, of which each run has one."""
    return "scope" not in row and "shadow" not in row


def markdown(rows: Sequence[Row]) -> str:
    """A table for a pull request."""
    lines = ["| agent | rule | calls | scorer | score | label | why |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        calls = ", ".join(call["name"] for call in row["tool_calls"])
        for evaluation in row["evaluations"] or [None]:
            cells = [row["agent"] or "", _rule(row) or "no rule", calls, *_cells(evaluation)]
            lines.append("| " + " | ".join(map(_markdown_text, cells)) + " |")
    return "\n".join([*lines, "", _summary(rows), ""])


# What GitHub and GitLab read in a line of text: HTML, emphasis, code, links, mentions, formulas and the cells of a table.
# An underscore inside a word, as in most names of tools, means nothing.
_MARKDOWN = re.compile(r"[&<>@]|[\\`*|~$\[\]]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@&#8203;"}  # a zero-width space ends a mention


def _markdown_text(text: str) -> str:
    """Returns the text as Markdown that shows it and does nothing else."""
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0]) or f"\\{found[0]}", printable(text))


def table(rows: Sequence[Row]) -> str:
    """A table for a terminal."""
    from rich.console import Console  # noqa: PLC0415 - a collector never needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def cell(*lines: str) -> Text:  # not a str, in which rich reads markup
        return Text("\n".join(map(printable, lines)))

    shown = Table("agent", "rule", "calls", "scorer", "score", "label", "why", title=None)
    for row in rows:
        agent, calls = cell(row["agent"] or row["trace_id"][:8]), cell(*map(_sketch, row["tool_calls"]))
        for evaluation in row["evaluations"] or [None]:
            shown.add_row(agent, cell(_rule(row) or "-"), calls, *map(cell, _cells(evaluation)))
    console = Console()
    with console.capture() as captured:
        console.print(shown)
        console.print(_summary(rows))
    return captured.get()


def junit(rows: Sequence[Row]) -> str:
    """JUnit XML: a test case for each evaluation, a failure for each that failed, a skip for each that counts for nothing."""
    suite = ElementTree.Element("testsuite", name="rightcall")
    tests = failures = skipped = 0
    for row in rows:
        for evaluation in row["evaluations"]:
            tests += 1
            name = f"{row['rule']} / {evaluation['name']} / {row['trace_id']}:{row['span_id']}"
            agent = printable(row["agent"] or "agent")
            case = ElementTree.SubElement(suite, "testcase", classname=agent, name=printable(name))
            if row.get("shadow") or evaluation["label"] in _UNDECIDED:
                skipped += 1
                why = "the rule is on trial" if row.get("shadow") else evaluation["explanation"]
                ElementTree.SubElement(case, "skipped", message=printable(why))
            elif evaluation["label"] != "pass":
                failures += 1
                why = printable(evaluation["explanation"])
                ElementTree.SubElement(case, "failure", message=why, type=evaluation["label"])
    suite.attrib.update(tests=str(tests), failures=str(failures), skipped=str(skipped))
    return str(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True), "utf-8") + "\n"


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
    "table": table,
    "jsonl": jsonl,
    "junit": junit,
    "markdown": markdown,
}


def mean_score(rows: Sequence[Row]) -> float | None:
    """The mean of the primary scores of runs, traces and conversations; None where there is none.

    An error counts as 0; what is incomplete or ambiguous, and a shadow rule, not at all.
    """
    values = [row["evaluations"][0]["value"] or 0.0 for row in rows if _is_counted(row)]
    return sum(values) / len(values) if values else None


_UNDECIDED = ("incomplete", "ambiguous")


def _is_counted(row: Row) -> bool:
    return bool(row["evaluations"]) and row["evaluations"][0]["label"] not in _UNDECIDED and not row.get("shadow")


def _rule(row: Row) -> str:
    """The rule, and what it is about where that is not the run."""
    of = [row["scope"]] if "scope" in row else []
    about = ", ".join([*of, "shadow"] if row.get("shadow") else of)
    return f"{row['rule']} ({about})" if about else row["rule"] or ""


def _summary(rows: Sequence[Row]) -> str:
    mean = mean_score(rows)
    labels = [row["evaluations"][0]["label"] for row in rows if row["evaluations"] and not row.get("shadow")]
    counts = [f"{labels.count(label)} {label}" for label in ("pass", "fail")]
    counts += [f"{labels.count(label)} {label}" for label in _UNDECIDED if label in labels]
    score = f"mean score {mean:.3f}" if mean is not None else "nothing scored"
    return f"{sum(map(_is_plain, rows))} runs, {', '.join(counts)}, {score}"


def _cells(evaluation: Row | None) -> tuple[str, str, str, str]:
    if evaluation is None:
        return "", "", "", ""
    value = evaluation["value"]
    return evaluation["name"], "" if value is None else f"{value:.3f}", evaluation["label"], evaluation["explanation"]


def _sketch(call: Row) -> str:
    marks = {None: "", "matched": " ✓", "unscored": ""}
    failed = " (failed)" if call["status"] == "error" else ""
    return f"{call['name']}{failed}{marks.get(call['outcome'], ' ✗ ' + str(call['outcome']))}"
