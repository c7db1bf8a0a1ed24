"""The difference between two sets of rules as a table, as Markdown for a pull request, or as JSON lines.

Names in a run are as they were received: hostile. Each format escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from collector.offline.diff import MAX_EXAMPLES, Change, Group, RulesDiff, Side
from collector.offline.report import markdown_text, render_table
from scorers.quoting import json_line, shorten

MAX_GROUPS = 50
"""Groups of changes that are listed, the most frequent first."""
_MAX_REASONS = 5
_HEADING = ("runs", "before", "after", "why", "for example")


def jsonl(diff: RulesDiff) -> str:
    """One line for each run that changes: what it is, and rule, label, score and reasons before and after."""
    return "".join(json_line(_data(change)) + "\n" for change in diff.changes)


def table(diff: RulesDiff) -> str:
    """A table for a terminal, and the figures."""
    shown = render_table(_HEADING, map(_cells, diff.groups()[:MAX_GROUPS])) if diff.changes else ""
    return shown + "".join(f"{line}\n" for line in _figures(diff))


def markdown(diff: RulesDiff) -> str:
    """A table for a pull request under the figures."""
    lines = [markdown_text(line) for line in _figures(diff)]
    if diff.changes:
        lines += ["", f"| {' | '.join(_HEADING)} |", "|--:|" + "---|" * (len(_HEADING) - 1)]
        lines += [f"| {' | '.join(map(markdown_text, _cells(group)))} |" for group in diff.groups()[:MAX_GROUPS]]
    return "\n".join([*lines, ""])


FORMATS: dict[str, Callable[[RulesDiff], str]] = {"table": table, "jsonl": jsonl, "markdown": markdown}


def _figures(diff: RulesDiff) -> Iterator[str]:
    yield f"{len(diff.changes)} of {diff.compared} verdicts change"
    for name, labels in (("before", diff.labels_before), ("after", diff.labels_after)):
        yield f"{name}: {_counts(labels)}"
    if diff.other_rule:
        yield f"{diff.other_rule} have the same label from another rule"
    if diff.other_score:
        yield f"{diff.other_score} have the same label and another score"
    if (left_out := len(diff.groups()) - MAX_GROUPS) > 0:
        yield f"{left_out} more kinds of changes are not shown; --format jsonl has all"


def _counts(labels: Counter[str]) -> str:
    return ", ".join(f"{count} {label}" for label, count in sorted(labels.items(), key=lambda item: -item[1])) or "none"


def _cells(group: Group) -> tuple[str, ...]:
    reasons = "; ".join(shorten(reason) for reason in group.reasons[:_MAX_REASONS])
    more = len(group.reasons) - _MAX_REASONS
    examples = ", ".join(change.trace_id for change in group.changes[:MAX_EXAMPLES])
    return (
        str(len(group.changes)), _named(group.scope, *group.before), _named(group.scope, *group.after),
        f"{reasons}; {more} more" if more > 0 else reasons, examples,
    )  # fmt: skip


def _named(scope: str, rule: str | None, label: str) -> str:
    about = "" if scope == "run" else f" ({scope})"
    return label if rule is None else f"{label} by {shorten(rule)}{about}"


def _data(change: Change) -> dict[str, object]:
    run = {name: getattr(change, name) for name in ("trace_id", "span_id", "agent", "route", "scope")}
    return {**run, "before": _side(change.before), "after": _side(change.after)}


def _side(side: Side) -> dict[str, object]:
    return {"rule": side.rule, "label": side.label, "value": side.value, "reasons": list(side.reasons)}
