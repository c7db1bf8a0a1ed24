"""Scored runs as JSON lines, a table, JUnit XML or Markdown, with what the gate objects to, in pieces of text.

There may be more rows than memory holds, so they are read one after the other, as often as needed.

Names and texts in a row are as they were received: hostile. Each format escapes them where it writes them.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice
from xml.etree import ElementTree

from collector.figures import score
from collector.offline.gate import tally
from collector.offline.reasons import MAX_GROUPS, groups_of
from collector.runs.rows import Row, is_of_run
from scorers.conformance.difference import columns
from scorers.quoting import json_line, printable, shorten
from scorers.wording import quantity

MAX_ROWS = 1000
"""Rows of the table for a terminal: nobody reads more, and rich needs all of them in memory."""
_WIDTH = 160  # of a table that is not shown on a terminal
_MAX_TITLE = 80  # characters of a user's words in the name of a test case


def jsonl(rows: Collection[Row], _: Sequence[str] = ()) -> Iterator[str]:
    """One JSON object a line, one line an agent run.

    What other rules than the one in force for the run say (on its trace, on its conversation, a shadow rule) stands under
    ``also`` of the run they are anchored at.
    """
    # Verdicts on conversations come when all traces are scored. Those on a trace follow the runs of the trace.
    late: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.get("scope") == "conversation":
            late.setdefault(_anchor(row), []).append(_told(row))
    for _, of_trace in groupby(rows, lambda row: str(row["trace_id"])):
        lines: list[Row] = []
        line_of: dict[tuple[str, str], Row] = {}
        for row in of_trace:
            if is_of_run(row):
                lines.append(line := dict(row))
                line_of[_anchor(row)] = line
            elif row.get("scope") != "conversation":
                line_of[_anchor(row)].setdefault("also", []).append(_told(row))
        for anchor, line in line_of.items():
            if anchor in late:
                line.setdefault("also", []).extend(late[anchor])
        yield from (json_line(line) + "\n" for line in lines)


def _anchor(row: Row) -> tuple[str, str]:
    return row["trace_id"], row["span_id"]


def _told(row: Row) -> Row:
    told = {"scope": row.get("scope", "run"), "shadow": row.get("shadow", False)}
    return {**told, **{name: row[name] for name in _ALSO if name in row}}


_ALSO = (
    "complete",
    "doubts",
    "release",
    "tool_calls",
    "rule",
    "evaluations",
    "unscored_reason",
    "reasons",
    "difference",
)


def markdown(rows: Collection[Row], objections: Sequence[str] = ()) -> Iterator[str]:
    """A table for a pull request, the figures, and why runs failed, by reason."""
    yield from (f"{line}\n" for line in _markdown_table(rows))
    yield f"\n{markdown_text(tally(rows).sentence())}\n"
    yield from (f"\n**Not met**: {markdown_text(objection)}\n" for objection in objections)
    groups = groups_of(rows)
    for group in groups[:MAX_GROUPS]:
        # No line of the block can end it: each begins with spaces and a symbol, or is indented by four.
        shown = [f"    {line}" for line in group.lines]
        yield "\n".join(["", f"- {markdown_text(group.sentence)}", "", "```text", *shown, "```", ""])
    yield from (f"{line}\n" for line in _left_out(len(groups)))


def _markdown_table(rows: Iterable[Row]) -> Iterator[str]:
    heading = ["trace", "agent", "rule", "calls", "scorer", "score", "label", "why"]
    yield f"| {' | '.join(heading)} |"
    yield "|" + "---|" * len(heading)
    for row in rows:
        calls = ", ".join(call["name"] for call in row["tool_calls"])
        for evaluation in row["evaluations"] or [None]:
            why = evaluation["explanation"] if evaluation else row.get("unscored_reason", "")
            cells = [row["trace_id"], row["agent"] or "", _rule(row) or "no rule", calls, *_cells(evaluation), why]
            yield "| " + " | ".join(map(markdown_text, cells)) + " |"


# What GitHub and GitLab read in a line of text: HTML, emphasis, code, links, mentions, formulas and the cells of a table.
# An underscore inside a word, as in most names of tools, means nothing.
_MARKDOWN = re.compile(r"[&<>@]|[\\`*|~$\[\]]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@&#8203;"}  # a zero-width space ends a mention


def markdown_text(text: str) -> str:
    """Returns the text as Markdown that shows it and does nothing else."""
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0]) or f"\\{found[0]}", printable(text))


def table(rows: Collection[Row], _: Sequence[str] = ()) -> Iterator[str]:
    """A table for a terminal with the first rows, why runs failed, by reason, and the figures."""
    heading = ("trace", "agent", "rule", "calls", "scorer", "score", "label")
    yield render_table(heading, _table_rows(islice(rows, MAX_ROWS)))
    if len(rows) > MAX_ROWS:
        yield f"{quantity(len(rows) - MAX_ROWS, 'more row')}; --format jsonl has all\n"
    yield from (f"{line}\n" for line in _ending(rows))


def _table_rows(rows: Iterable[Row]) -> Iterator[Sequence[str | Sequence[str]]]:
    for row in rows:
        run = (row["trace_id"], row["agent"] or "", _rule(row) or "-", [_sketch(call) for call in row["tool_calls"]])
        for evaluation in row["evaluations"] or [None]:
            name, score, label = _cells(evaluation)
            yield *run, name, score, label or row.get("unscored_reason", "")


def render_table(heading: Sequence[str], rows: Iterable[Sequence[str | Sequence[str]]]) -> str:
    """A table for a terminal. A cell is a line, or a sequence of them; what a terminal obeys or hides is escaped."""
    from rich.console import Console  # noqa: PLC0415 - a collector never needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = Table(*heading, title=None)
    for column in shown.columns:  # in a narrow terminal names go on in the next line, whole
        column.overflow = "fold"
    for row in rows:
        cells = ([cell] if isinstance(cell, str) else cell for cell in row)
        shown.add_row(*(Text("\n".join(map(printable, lines))) for lines in cells))  # in a str rich reads markup
    screen, text = Console(), io.StringIO()
    # Into a file or a log of CI: rich would take 80 columns, and break ids.
    width = screen.width if screen.is_terminal or "COLUMNS" in os.environ else _WIDTH
    # Not captured: rich writes to standard output then, too, if only nothing, which may fail.
    Console(file=text, force_terminal=screen.is_terminal, width=width).print(shown)
    return text.getvalue()


def _ending(rows: Collection[Row]) -> Iterator[str]:
    groups = groups_of(rows)
    for group in groups[:MAX_GROUPS]:
        yield group.sentence
        yield from (f"    {line}" for line in group.lines)
    yield from _left_out(len(groups))
    if groups:
        yield "`rightcall explain TRACE_ID`, with the same rules and paths, shows one run in full."
    yield tally(rows).sentence()


def _left_out(groups: int) -> list[str]:
    return [f"{groups - MAX_GROUPS} more reasons"] if groups > MAX_GROUPS else []


def junit(rows: Collection[Row], objections: Sequence[str] = ()) -> Iterator[str]:
    """JUnit XML: a test case for each evaluation, and one for the gate, so that no runs at all are never a success.

    A fail or an error is a failure; what counts for nothing is skipped. Names are the same whenever the same runs are scored.
    """
    counts = Counter(tests=1, failures=int(bool(objections)), skipped=0)
    for row in rows:
        for evaluation in row["evaluations"] or [None]:
            counts["tests"] += 1
            counts["skipped"] += _is_skipped(row, evaluation)
            counts["failures"] += not _is_skipped(row, evaluation) and evaluation["label"] != "pass"
    attributes = "".join(f' {name}="{count}"' for name, count in counts.items())
    yield f"<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"rightcall\"{attributes}>"
    for case in _cases(rows):
        yield ElementTree.tostring(case, encoding="unicode")
    gate = ElementTree.Element("testcase", classname="rightcall", name="gate")
    if objections:
        failure = ElementTree.SubElement(gate, "failure", message=printable("; ".join(objections)), type="gate")
        failure.text = tally(rows).sentence()
    yield f"{ElementTree.tostring(gate, encoding='unicode')}</testsuite>\n"


def _cases(rows: Iterable[Row]) -> Iterator[ElementTree.Element]:
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for evaluation in row["evaluations"] or [None]:
            agent, title = printable(row["agent"] or "agent"), _title(row, evaluation)
            # Numbered, since CI systems take test cases of one name for one.
            seen[agent, title] += 1
            number = seen[agent, title]
            case = ElementTree.Element("testcase", classname=agent, name=f"{title} #{number}" if number > 1 else title)
            properties = ElementTree.SubElement(case, "properties")
            ElementTree.SubElement(properties, "property", name="trace_id", value=row["trace_id"])
            _add_result(case, row, evaluation)
            yield case


def _title(row: Row, evaluation: Row | None) -> str:
    """The rule, the scorer, and what the user asked: what is the same when the same case is run again."""
    parts = [_rule(row) or "no rule", *([evaluation["name"]] if evaluation else [])]
    asked = [shorten(" ".join(row["user_input"].split()), _MAX_TITLE)] if row["user_input"] else []
    return printable(" / ".join([*parts, *asked]))


def _is_skipped(row: Row, evaluation: Row | None) -> bool:
    """Neither a success nor a failure: a run of which nothing is known must not make a build green or red."""
    return bool(row.get("shadow")) or evaluation is None or evaluation["label"] in ("incomplete", "ambiguous")


def _add_result(case: ElementTree.Element, row: Row, evaluation: Row | None) -> None:
    why = evaluation["explanation"] if evaluation else row.get("unscored_reason", "no_rule")
    if _is_skipped(row, evaluation):
        ElementTree.SubElement(case, "skipped", message=printable("the rule is on trial" if row.get("shadow") else why))
    elif evaluation is not None and evaluation["label"] != "pass":
        failure = ElementTree.SubElement(case, "failure", message=printable(why), type=evaluation["label"])
        failure.text = "\n".join([f"trace {row['trace_id']}", *columns(row.get("difference", ()))])


FORMATS: dict[str, Callable[[Collection[Row], Sequence[str]], Iterator[str]]] = {
    "table": table,
    "jsonl": jsonl,
    "junit": junit,
    "markdown": markdown,
}


def _rule(row: Row) -> str:
    """The rule, and what it is about where that is not the run."""
    of = [row["scope"]] if "scope" in row else []
    about = ", ".join([*of, "shadow"] if row.get("shadow") else of)
    return f"{row['rule']} ({about})" if about else row["rule"] or ""


def _cells(evaluation: Row | None) -> tuple[str, str, str]:
    if evaluation is None:
        return "", "", ""
    value = evaluation["value"]
    return evaluation["name"], "" if value is None else score(value), evaluation["label"]


def _sketch(call: Row) -> str:
    marks = {None: "", "matched": " ✓", "unscored": ""}
    failed = " (failed)" if call["status"] == "error" else ""
    return f"{call['name']}{failed}{marks.get(call['outcome'], ' ✗ ' + str(call['outcome']))}"
