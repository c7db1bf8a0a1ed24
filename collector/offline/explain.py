"""One trace explained: its calls on a time line, what is in doubt, which rules were tried, and what stands against a pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from collector.errors import RightcallError
from collector.reconstruction.reconstruct import Run
from collector.scoring.rule_files import LoadedRules
from collector.scoring.select_and_score import context_of
from collector.scoring.verdict import Verdict
from scorers import CompiledRule, ToolCall
from scorers.conformance.difference import Difference
from scorers.quoting import json_line, printable, shorten
from scorers.rules.selection import mismatches

_BAR = 24  # characters of the time line
_MAX_RULES = 30
_MAX_TEXT = 200
_KNOWN_BY = {"span": "its span", "result": "its result in a later request", "request": "a model's request only"}


class NoSuchTraceError(RightcallError):
    """The trace is not among those that were read, or the id stands for more than one."""


def explain(trace_id: str, verdicts: Iterable[Verdict], rules: LoadedRules) -> str:
    """Returns what is known of a trace, in lines for people. The beginning of an id suffices. Raises NoSuchTraceError."""
    verdicts = list(verdicts)
    wanted = trace_id.lower().replace("-", "")
    ids = {verdict.run.trace_id.hex() for verdict in verdicts}
    found = sorted(one for one in ids if wanted and one.startswith(wanted))
    if not found:
        raise NoSuchTraceError(f"no run of a trace {shorten(trace_id)} is in the input, which has {len(ids)} traces")
    if len(found) > 1:
        raise NoSuchTraceError(f"{len(found)} traces begin with {wanted}: {', '.join(found[:5])}")
    lines: list[str] = [f"trace {found[0]}"]
    for verdict in verdicts:
        if verdict.run.trace_id.hex() == found[0]:
            lines += ["", *map(printable, _of_verdict(verdict, rules))]
    return "\n".join(lines)


def _of_verdict(verdict: Verdict, rules: LoadedRules) -> Iterator[str]:
    run = verdict.run
    about = "run" if verdict.scope == "run" else verdict.scope
    yield f"{about} of agent {shorten(run.agent or '(unnamed)')}, span {run.span_id.hex()}"
    facts = {"route": run.route, "intent": run.intent, "service": run.service, "conversation": run.conversation_id}
    yield f"  {', '.join(f'{name} {_text(value)}' for name, value in facts.items())}"
    if run.user_input:
        yield f"  asked: {_text(run.user_input)}"
    yield f"  read as {run.dialect or 'nothing known'}, released by {verdict.release}"
    yield "calls"
    yield from _time_line(run)
    if run.trajectory.doubts:
        yield "doubts"
        yield from (f"  {doubt.name}: {doubt.sentence or 'nothing settles it'}" for doubt in run.trajectory.doubts)
    yield "rules"
    yield from rules_tried(verdict, rules.set.rules)
    yield "verdict"
    yield from _result(verdict)


def _text(value: str | None) -> str:
    return "unknown" if value is None else shorten(" ".join(value.split()), _MAX_TEXT)


def _time_line(run: Run) -> Iterator[str]:
    calls = run.trajectory.calls
    if not calls:
        yield "  none"
        return
    timed = [call for call in calls if call.start_ns]
    begin = min((call.start_ns for call in timed), default=0)
    length = max((max(call.end_ns, call.start_ns) for call in timed), default=0) - begin
    together = Counter(call.step for call in calls)
    for call in calls:
        concurrent = f", at once with {together[call.step] - 1} more" if together[call.step] > 1 else ""
        state = "did not run" if not call.executed else "failed" if call.status == "error" else ""
        if call.error_type:
            state += f" ({shorten(call.error_type)})"
        arguments = "arguments not captured" if call.arguments is None else shorten(json_line(call.arguments), 100)
        yield (
            f"  {call.step + 1:3} {_bar(call, begin, length)} {_when(call, begin):>20}  {shorten(call.name)} {arguments}"
            f"{', ' + state if state else ''}{concurrent}; known by {_KNOWN_BY[call.known_by]}"
        )


def _bar(call: ToolCall, begin: int, length: int) -> str:
    if not call.start_ns:
        return "?" + " " * (_BAR - 1)
    first = (call.start_ns - begin) * (_BAR - 1) // max(length, 1)
    last = (max(call.end_ns, call.start_ns) - begin) * (_BAR - 1) // max(length, 1)
    return ("·" * first + "█" * (last - first + 1)).ljust(_BAR, "·")


def _when(call: ToolCall, begin: int) -> str:
    if not call.start_ns:
        return "time unknown"
    return f"+{(call.start_ns - begin) / 1e6:.1f} ms, {max(call.end_ns - call.start_ns, 0) / 1e6:.1f} ms"


def rules_tried(verdict: Verdict, rules: Sequence[CompiledRule]) -> Iterator[str]:
    """Which rules of this scope were tried, in order, and why those before the one in force do not match."""
    context = context_of(verdict.run)
    tried = [rule for rule in rules if (rule.rule.scope, rule.rule.shadow) == (verdict.scope, verdict.shadow)]
    if not tried:
        yield f"  there are none of scope {verdict.scope}"
    if verdict.is_rule_unknown:
        yield "  none is chosen: a missing span may carry the route or tenant that chooses it"
        return
    for rule in tried[:_MAX_RULES]:
        name = shorten(rule.rule.name)
        if rule.rule.name == verdict.rule:
            yield f"  {name}: matches, and scores it"
            return
        yield f"  {name}: {'; '.join(mismatches(rule.rule.match, context))}"
    if len(tried) > _MAX_RULES:
        yield f"  ... and {len(tried) - _MAX_RULES} more"


def _result(verdict: Verdict) -> Iterator[str]:
    if not verdict.evaluations:
        yield f"  not scored: {verdict.unscored_reason}"
        return
    for evaluation in verdict.evaluations:
        yield f"  {verdict.headline(evaluation)}"
    if verdict.compiled_rule is None:
        return
    difference = verdict.difference()
    yield from (f"  {line}" for line in difference.lines(values=True))
    if verdict.label == "pass":
        return
    primary = next((evaluation.score for evaluation in verdict.evaluations if evaluation.primary), None)
    yield "to pass"
    if primary is not None and primary.value is not None:
        yield f"  the score must be at least {verdict.compiled_rule.rule.pass_:g}; it is {primary.value:.3f}"
    yield from dict.fromkeys(f"  {step}" for step in _steps(difference))


def _steps(difference: Difference) -> Iterator[str]:
    """What would have to be different, one step for each difference."""
    for row in difference.rows:
        name = shorten(row.name)
        if row.outcome == "missing":
            yield f"call {row.expected}"
        elif row.outcome == "out_of_order":
            yield f"call {name} where the rule expects it"
        elif row.mismatches:
            yield from (f"{name}.{one.sentence(values=True)}" for one in row.mismatches)
        elif row.outcome == "extra":
            yield f"do not call {name}, or name it in allow_extra"
        elif row.outcome == "forbidden":
            yield f"do not call {name}: as long as it is called, no score passes"
        elif row.outcome == "broken":
            yield f"keep to {row.expected}: as long as it is broken, no score passes"
