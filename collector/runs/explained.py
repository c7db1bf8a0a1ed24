"""One verdict explained, as plain data: what `explain` prints, the console shows and the store of runs keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collector.runs.rows import Row, row_of
from collector.scoring.select_and_score import context_of
from collector.scoring.verdict import Verdict
from scorers import CompiledRule
from scorers.conformance.difference import Difference
from scorers.quoting import shorten
from scorers.rules.selection import MAX_TRIED, mismatches


def explained(verdict: Verdict, rules: Sequence[CompiledRule], *, values: bool = True) -> Row:
    """Returns the row of a verdict, and why it is so; values of arguments are in the reasons only if ``values``.

    ``rules`` are those in force, in order.
    """
    run, difference = verdict.run, verdict.difference()
    rule = verdict.compiled_rule.rule if verdict.compiled_rule is not None else None
    tried, untold = _rules_tried(verdict, rules)
    row = row_of(verdict, difference, values=values)
    # That of a pass, too: the console shows expected beside actual calls of every run.
    if "difference" not in row:
        row["difference"] = difference.data(values=values)
    return {
        **row,
        "service": run.service,
        "digest": verdict.digest,
        "revision": verdict.revision,
        "scope": verdict.scope,
        "shadow": verdict.shadow,
        "label": verdict.label,
        "primary": next((one.name for one in verdict.evaluations if one.primary), None),
        "pass_at": None if rule is None else rule.pass_,
        "settled_by": [
            {"name": doubt.name, "sentence": doubt.sentence, "calls": list(doubt.calls)}
            for doubt in run.trajectory.doubts
        ],
        "rules_tried": tried,
        "rules_untold": untold,
        "is_rule_unknown": verdict.is_rule_unknown,
        "to_pass": [] if verdict.label == "pass" else list(dict.fromkeys(_steps(difference, values=values))),
    }


def closest_rule(verdict: Verdict) -> str | None:
    """Returns the rule that comes closest to a run that none matches, and what it asks for; None if there is no such."""
    if verdict.closest is None:
        return None
    rule = verdict.closest[0].rule
    return f"{rule.name}: {'; '.join(mismatches(rule.match, context_of(verdict.run)))}"


def _rules_tried(verdict: Verdict, rules: Sequence[CompiledRule]) -> tuple[list[Row], int]:
    """Which rules of this scope were tried, in order, why each does not match, and how many more there are."""
    context, tried = context_of(verdict.run), list[Row]()
    of_scope = [rule for rule in rules if (rule.rule.scope, rule.rule.shadow) == (verdict.scope, verdict.shadow)]
    for rule in of_scope[:MAX_TRIED]:
        # The rules behind it were not tried.
        if rule.rule.name == verdict.rule:
            return [*tried, {"rule": rule.rule.name, "matches": True, "why": []}], 0
        tried.append({"rule": rule.rule.name, "matches": False, "why": mismatches(rule.rule.match, context)})
    return tried, max(0, len(of_scope) - MAX_TRIED)


def tried_lines(row: Row) -> Iterator[str]:
    """The rules that were tried, in lines for people."""
    if not row["rules_tried"]:
        yield f"  there are none of scope {row['scope']}"
    if row["is_rule_unknown"]:
        yield "  none is chosen: a missing span may carry the route, intent, tenant or agent that chooses it"
        return
    for tried in row["rules_tried"]:
        name = shorten(tried["rule"])
        yield f"  {name}: matches, and scores it" if tried["matches"] else f"  {name}: {'; '.join(tried['why'])}"
    if row["rules_untold"]:
        yield f"  ... and {row['rules_untold']} more"


def _steps(difference: Difference, *, values: bool) -> Iterator[str]:
    """What would have to be different, one step for each difference."""
    for row in difference.rows:
        name = shorten(row.name)
        if row.outcome == "missing":
            yield f"call {row.expected}"
        elif row.outcome == "out_of_order":
            yield f"call {name} where the rule expects it"
        elif row.mismatches:
            yield from (f"{name}.{one.sentence(values=values)}" for one in row.mismatches)
        elif row.outcome == "extra":
            yield f"do not call {name}, or name it in allow_extra"
        elif row.outcome == "forbidden":
            yield f"do not call {name}: as long as it is called, no score passes"
        elif row.outcome == "broken":
            yield f"keep to {row.expected}: as long as it is broken, no score passes"
