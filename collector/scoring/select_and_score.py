"""Select the rule of each run, score it, and say whether that is new.

A run is scored by the first rule of scope ``run`` that matches it, a trace by the first of scope ``trace``, a conversation
by the first of its scope that matches its first run; shadow rules are selected beside them and never displace them. A run
that was scored before is scored again only when late spans changed its calls, and then as a further revision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from collector.assembly.trace import Trace
from collector.model.genai_span import Content
from collector.reconstruction.reconstruct import Run, join_runs
from collector.scoring.verdict import Verdict
from scorers import CompiledRule, RuleContext, RuleSet

TENANT_ATTRIBUTES = ("rightcall.tenant", "tenant.id")
_WHOLE_TRACE = b""  # where the verdict of a whole trace is noted among those of its runs

# A span above the anchor that never came says nothing about the calls below it: everything a run is judged by is there.
_TOLERABLE = frozenset({"missing_parent"})


def verdicts_of(trace: Trace, runs: Sequence[Run], rules: RuleSet, release: str) -> list[Verdict]:
    """The verdicts of a released trace, and a note of them in ``trace``: those of its runs, then its own."""
    complete = [not trace.truncated and _TOLERABLE.issuperset(run.incomplete) for run in runs]
    verdicts: list[Verdict] = []
    for run, whole in zip(runs, complete, strict=True):
        _find_intent(run, rules)
        revision = _revision(trace, run.span_id, run)
        if revision is not None:
            verdicts += _judge(run, rules, "run", release, whole, revision)
    if (
        runs and rules.has_scope("trace") and not trace.seen
    ):  # else part of the trace is gone: see collector.storage.journal
        joined = _join(runs)
        revision = _revision(trace, _WHOLE_TRACE, joined)
        if revision is not None:
            ruled = _judge(joined, rules, "trace", release, all(complete), revision)
            verdicts += [verdict for verdict in ruled if verdict.rule is not None]
    return verdicts


def verdicts_of_conversation(
    runs: Sequence[Run], rules: RuleSet, release: str, *, complete: bool, revision: int
) -> list[Verdict]:
    """The verdicts of a conversation on all its runs, which come in order of start; none where no rule is about it."""
    ruled = _judge(_join(runs), rules, "conversation", release, complete, revision)
    return [verdict for verdict in ruled if verdict.rule is not None]


def words_to_embed(runs: Sequence[Run], rules: RuleSet) -> Iterator[str]:
    """The users' words that are embedded to find the intents of these runs."""
    for run in runs:
        if run.intent is None and run.user_input and (words := rules.text_to_embed(run.user_input)) is not None:
            yield words


def arguments_to_embed(runs: Sequence[Run], rules: RuleSet, scopes: Sequence[str]) -> Iterator[str]:
    """The arguments that are embedded to score these runs; best asked for when their intents are known."""
    for run in runs:
        _find_intent(run, rules)
    for scope in scopes:
        if any(rule.semantic_texts for rule in rules.rules if rule.rule.scope == scope):
            for run in runs if scope == "run" else [_join(runs)] if runs else ():
                for rule in _rules_for(run, rules, scope):
                    if rule is not None:
                        yield from rule.semantic_texts.of(run.trajectory)


def tenant_of(run: Run) -> str | None:
    """Whose run it is, where the sender said so."""
    return next((str(run.attributes[name]) for name in TENANT_ATTRIBUTES if name in run.attributes), None)


def _judge(run: Run, rules: RuleSet, scope: str, release: str, complete: bool, revision: int) -> Iterator[Verdict]:
    in_force, on_trial = _rules_for(run, rules, scope)
    if in_force is None:
        yield Verdict(run, release, complete, revision, scope=scope)
    for rule in (in_force, on_trial):
        if rule is not None:
            evaluations, shadow = rule.evaluate(run.trajectory), rule.rule.shadow
            name, judges = rule.rule.name, rule.judges
            yield Verdict(run, release, complete, revision, name, rule.digest, evaluations, scope, shadow, judges)


def _rules_for(run: Run, rules: RuleSet, scope: str) -> tuple[CompiledRule | None, CompiledRule | None]:
    """The rule in force, and the shadow rule."""
    context = RuleContext(run.route, run.intent, run.agent, run.service, tenant_of(run), run.attributes)
    return rules.select(context, scope), rules.select(context, scope, shadow=True)


def _find_intent(run: Run, rules: RuleSet) -> None:
    if run.intent is None and rules.intents and run.user_input:
        run.found_intent = rules.find_intent(run.user_input)
        run.intent = run.found_intent.name


def _join(runs: Sequence[Run]) -> Run:
    """Several runs as one, anchored where the outermost, earliest of them is."""
    anchor = next((run for run in runs if run.parent_span_id is None), runs[0])
    trajectory, call_span_ids = join_runs(runs)
    heard = dict.fromkeys(run.user_input for run in runs if run.parent_span_id is None and run.user_input)
    last = next((run for run in reversed(runs) if run.parent_span_id is None), anchor)
    others = [
        Content(None, told.tool_definitions)
        for run in runs
        if run is not last
        for told in run.contents
        if told.tool_definitions
    ]
    contents = [*last.contents, *others]
    user_input = "\n\n".join(heard) or anchor.user_input
    return replace(anchor, trajectory=trajectory, call_span_ids=call_span_ids, contents=contents, user_input=user_input)


def _revision(trace: Trace, key: bytes, run: Run) -> int | None:
    """0 for a run seen first, the next number for one whose calls changed, None for one that has its verdict."""
    fingerprint = hash(tuple([(call.name, call.span_id, call.status, call.executed) for call in run.trajectory.calls]))
    before = trace.verdicts.get(key)
    if before is not None and before[1] == fingerprint:
        return None
    revision = 0 if before is None else before[0] + 1
    trace.note_verdict(key, revision, fingerprint)
    return revision
