"""Select the rule of each run, score it, and tell first verdicts from revisions.

A run is scored by the first rule of scope ``run`` that matches it, a trace by the first of scope ``trace``, a conversation
by the first of its scope that matches its first run; shadow rules are selected beside them and never displace them. A run
that was scored before is scored again only when late spans changed its calls, their order, whether their arguments are
known, or the span that it is anchored at, or settled what left it undecided, and then as a further revision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.assembly.beginnings import Beginnings
from collector.assembly.gaps import Gaps
from collector.assembly.trace import Given, Trace
from collector.checkpoints import checkpoint
from collector.model import semconv
from collector.otlp.handed_over import Handover
from collector.reconstruction.doubts import UNREAD
from collector.reconstruction.run import Run
from collector.scoring.declared_tools import declared_tools
from collector.scoring.failures import anchor_of, failed_run
from collector.scoring.joined import join, outermost
from collector.scoring.parts import NO_PARTS, WHOLE_TRACE, runs_around
from collector.scoring.verdict import Verdict, known_forbidden
from scorers import CompiledRule, Doubt, RuleContext, RuleSet

_DECIDED, _UNDECIDED = ("pass", "fail"), ("incomplete", "ambiguous")
_NOTHING_UNKNOWN = frozenset[str]()
_NONE_FORBIDDEN = frozenset[str]()
"""Before the first verdict no forbidden call is counted."""
_TRUNCATED = Doubt(
    "truncated",
    sentence="its trace has more spans than traces.max_spans, or an earlier part that is no longer remembered",
)
_REFUSED = Doubt("refused_spans", sentence="spans of its trace were refused, and have not been sent again")
_IN_GAP = Doubt(
    "refused_spans",
    sentence="spans of it may have been sent and given up by their sender while this process was down, still or without room",
)
_EARLY = Doubt("truncated", sentence="it had to be scored before spans that were still on their way could arrive")
_RUNNING = Doubt("truncated", sentence="spans of it had begun and not ended when it had to be scored")
_FORCED = frozenset({"evicted", "shutdown", "max_duration"})  # reasons of release for which nothing is waited
_TORN = Doubt("torn_trace", sentence="it may have begun before all of it was seen: spans may be elsewhere or lost")

RunningBelow = Callable[[bytes], Collection[bytes]]
"""Returns below which spans of a trace others are known to go on; b"" for those without a parent."""


def nothing_runs(trace_id: bytes) -> Collection[bytes]:
    """Where nobody knows of spans that have not ended."""
    return ()


class Scored:
    """The verdicts of a trace, those of its runs first, and what to record of them once they are given."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.given: dict[bytes, Given] = {}
        self.parts = NO_PARTS
        """As `parts_of` returned them."""
        self.is_early = False
        """Spans of the trace may still be on their way, and are not waited for."""

    def may_change(self, rules: RuleSet) -> bool:
        """Whether a span still on its way could change a first verdict: any but a pass, or the rule that gave it."""
        for verdict in self.verdicts:
            if verdict.revision:
                continue
            for evaluation in verdict.evaluations:
                if evaluation.score.label != "pass":
                    return True
            if "missing_remote_parent" in verdict.doubts and rules.matches_by_route(verdict.scope):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Scoring:
    """How traces are scored: by which rules, with which tolerance between clocks, and what was scored before.

    ``was_scored`` tells of a trace that is no longer remembered whether the run with this anchor had its verdict,
    ``was_refused`` whether spans of a trace were refused and are still to be sent again, and ``running`` below which spans of
    it others are known to go on. ``gaps`` are those in what was received, None of recordings. When nothing of a trace has
    arrived for ``confirm`` seconds, no span is on its way any more that could change a fail.
    """

    rules: RuleSet
    skew_ns: int = 0
    was_scored: Callable[[bytes, bytes], bool] = lambda trace_id, anchor: False
    was_refused: Callable[[bytes], bool] = lambda trace_id: False
    gaps: Gaps | None = None
    running: RunningBelow = nothing_runs
    confirm: float = 0.0

    def verdicts_of(
        self,
        trace: Trace,
        runs: Sequence[Run],
        release: str,
        now: float,
        parts: Mapping[bytes, Sequence[bytes]] = NO_PARTS,
    ) -> Scored:
        """Returns the verdicts on the runs of a trace that have none yet, or whose calls or rule have changed since.

        ``parts`` is what ``parts_of`` returns of these runs, if they are all of the trace.
        """
        scored, beginnings = Scored(), Beginnings(trace)
        scored.is_early = release in _FORCED and now - trace.touched < self.confirm
        scored.parts = parts
        cut = runs_around(trace.seen, trace, runs) if trace.seen else frozenset()
        running = self.running(trace.trace_id)
        ongoing = runs_around(running, trace, runs) if running else frozenset()
        was_refused = self.was_refused(trace.trace_id)
        for run in runs:
            checkpoint()
            if trace.truncated or run.span_id in cut:
                _add_doubt(run, _TRUNCATED)
            if run.span_id in ongoing:
                _add_doubt(run, _RUNNING)
            if beginnings.may_be_missing(run.span_id):
                _add_doubt(run, _TORN)
            if was_refused:
                _add_doubt(run, _REFUSED)
            elif self._may_be_in_gap(trace, run.span_id):
                _add_doubt(run, _IN_GAP)
            _find_intent(run, self.rules)
            if self.rules.reads_definitions:
                run.trajectory = replace(run.trajectory, declared=declared_tools(run))
            self._score_once(scored, trace, run.span_id, run, "run", release)
        if runs and self.rules.has_scope("trace") and not trace.seen:  # else part of the trace was lost in a restart
            joined = join(runs, self.skew_ns)
            if running:
                _add_doubt(joined, _RUNNING)
            self._score_trace(scored, trace, joined, release, is_torn=beginnings.may_be_missing(WHOLE_TRACE))
        if self.rules.has_scope("trace") or self.rules.has_scope("conversation"):
            self._note_scored_wholes(scored, trace, runs)
        return scored

    def handover(self, trace: Trace) -> Handover:
        """Returns what whoever takes a trace over could not know."""
        # Nor is it told there of the runs that have their verdict: what comes later of them would be a run of its own.
        lacks_spans = (
            trace.truncated
            or bool(trace.seen or trace.verdicts)
            or self.was_refused(trace.trace_id)
            or self._may_be_in_gap(trace, WHOLE_TRACE)
        )
        seen_from_ns = 0 if trace.seen_from is None else trace.seen_from.latest_ns
        return Handover(max(seen_from_ns, trace.known_since_ns), lacks_spans)

    def _score_trace(self, scored: Scored, trace: Trace, joined: Run, release: str, *, is_torn: bool) -> None:
        if is_torn:
            _add_doubt(joined, _TORN)
        if not self.was_refused(trace.trace_id) and self._may_be_in_gap(trace, WHOLE_TRACE):
            _add_doubt(joined, _IN_GAP)
        self._score_once(scored, trace, WHOLE_TRACE, joined, "trace", release)

    def _may_be_in_gap(self, trace: Trace, anchor: bytes) -> bool:
        return self.gaps is not None and bool(self.gaps) and self.gaps.may_hold(*trace.times_of(anchor), trace.opened)

    def _note_scored_wholes(self, scored: Scored, trace: Trace, runs: Sequence[Run]) -> None:
        unscored = [verdict for verdict in scored.verdicts if verdict.unscored_reason == "no_rule"]
        if not unscored:
            return
        context, in_conversation = context_of(outermost(runs)), any(run.conversation_id for run in runs)
        by_trace = not trace.seen and self.rules.select(context, "trace") is not None
        if by_trace or (in_conversation and self.rules.select(context, "conversation") is not None):
            for verdict in unscored:
                verdict.in_scored_whole = True

    def failed(self, trace: Trace, runs: Sequence[Run], release: str, error: Exception) -> Scored:
        """Returns an error evaluation for each run, for the whole trace if its runs are unknown."""
        scored = Scored()
        for anchor in [run.span_id for run in runs] or [anchor_of(trace)]:
            before = self._before(trace, anchor, ())
            revision = 0 if before is None else before.revision + 1
            scored.verdicts.append(failed_run(trace.trace_id, anchor, release, revision, error))
            known = _NONE_FORBIDDEN if before is None else before.known_forbidden
            scored.given[anchor] = Given(revision, label="error", known_forbidden=known)
        return scored

    def _before(self, trace: Trace, key: bytes, parts: Sequence[bytes]) -> Given | None:
        """Returns the verdict that was given before; an unknown one if it is remembered only that there was one."""
        before = trace.verdict_before(key, parts)
        return Given(0) if before is None and self.was_scored(trace.trace_id, key) else before

    def _score_once(self, scored: Scored, trace: Trace, key: bytes, run: Run, scope: str, release: str) -> None:
        selected = _rules_for(run, self.rules, scope)
        calls = tuple(
            [
                (call.name, call.span_id, call.status, call.executed, call.step, call.arguments is None)
                for call in run.trajectory.calls
            ]
        )
        # A number, not the calls: it is kept for every finished trace that is remembered. Without the doubts, since a later
        # part of the trace raises some about runs that were whole when they had their verdict.
        # With the anchor, which leaves with the verdict on it: what had one as a part has another as a whole.
        fingerprint = hash((key, calls, selected.active and selected.active.rule.name))
        before = self._before(trace, key, scored.parts.get(key, ()))
        same = before if before is not None and before.fingerprint == fingerprint else None
        if same is not None and same.label not in _UNDECIDED:
            return
        revision, known = (0, _NONE_FORBIDDEN) if before is None else (before.revision + 1, before.known_forbidden)
        verdicts = list(_score(run, selected, scope, release, revision, known))
        if scored.is_early and (before is None or same is not None) and _has_fail(verdicts):
            run = replace(run)  # a trace or conversation that it is part of may pass all the same
            _add_doubt(run, _EARLY)
            verdicts = list(_score(run, selected, scope, release, revision, known))
        if same is not None and verdicts[0].label not in _DECIDED:
            return
        scored.verdicts.extend(verdict for verdict in verdicts if scope == "run" or verdict.rule is not None)
        scored.given[key] = Given(revision, fingerprint, verdicts[0].label, 0, known_forbidden(verdicts, known))


def verdict_of_run(run: Run, rules: RuleSet) -> Verdict:
    """Returns the verdict on a run alone, outside its trace. The run is not modified."""
    run = replace(run)  # an intent that these rules find in the user's words is theirs
    _find_intent(run, rules)
    return next(_score(run, _rules_for(run, rules, "run"), "run", "end_of_input", 0))


def _add_doubt(run: Run, doubt: Doubt) -> None:
    if doubt not in run.trajectory.doubts:
        run.trajectory = replace(run.trajectory, doubts=[*run.trajectory.doubts, doubt])


def verdicts_of_conversation(
    runs: Sequence[Run],
    rules: RuleSet,
    release: str,
    skew_ns: int,
    *,
    complete: bool,
    revision: int,
    known: frozenset[str] | None,
) -> list[Verdict]:
    """Returns the verdicts on all runs of a conversation, in order of start; none if no rule matches it.

    ``known`` are tools of which forbidden calls are counted.
    """
    _find_intent(outermost(runs), rules)  # unless the rules by which it was collected found it, and are still in force
    run = join(runs, skew_ns, are_all=True)
    if run.unread:
        _add_doubt(run, UNREAD)
    if not complete:
        _add_doubt(run, Doubt("truncated", sentence="the conversation went on, or not all of its runs were collected"))
    verdicts = _score(run, _rules_for(run, rules, "conversation"), "conversation", release, revision, known)
    return [verdict for verdict in verdicts if verdict.rule is not None]


def words_to_embed(runs: Sequence[Run], rules: RuleSet) -> Iterator[str]:
    """Yield the users' words that must be embedded to find the intents of these runs."""
    for run in runs:
        if run.intent is None and run.user_input and (words := rules.text_to_embed(run.user_input)) is not None:
            yield words


def arguments_to_embed(runs: Sequence[Run], rules: RuleSet, scopes: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that must be embedded to score these runs. Finds their intents."""
    for run in runs:
        _find_intent(run, rules)
    for scope in scopes:
        if any(rule.semantic_texts for rule in rules.rules if rule.rule.scope == scope):
            # Only the texts are wanted here, so clocks and order do not matter.
            for run in runs if scope == "run" else [join(runs, 0)] if runs else ():
                selected = _rules_for(run, rules, scope)
                for rule in (selected.active, selected.shadow):
                    if rule is not None:
                        yield from rule.semantic_texts.of(run.trajectory)


def tenant_of(run: Run) -> str | None:
    """Returns the tenant the sender named, None if it named none."""
    for name in semconv.TENANT_NAMES:
        if name in run.attributes:
            return str(run.attributes[name])
    return None


def context_of(run: Run) -> RuleContext:
    """Returns what of a run rules match."""
    return RuleContext(run.route, run.intent, run.agent, run.service, tenant_of(run), run.attributes)


class _Selected:
    """The rules that score a run; none while a missing span may carry what selects them."""

    def __init__(
        self,
        active: CompiledRule | None,
        shadow: CompiledRule | None,
        is_unknown: bool = False,
        closest: tuple[CompiledRule, list[str]] | None = None,
    ) -> None:
        self.active, self.shadow, self.is_unknown, self.closest = active, shadow, is_unknown, closest


def _score(
    run: Run, selected: _Selected, scope: str, release: str, revision: int, known: frozenset[str] | None = None
) -> Iterator[Verdict]:
    if selected.active is None:
        unknown, closest = selected.is_unknown, selected.closest
        yield Verdict(run, release, revision, scope=scope, is_rule_unknown=unknown, closest=closest)
    for rule in (selected.active, selected.shadow):
        if rule is not None:
            evaluations, shadow = rule.evaluate(run.trajectory, checkpoint), rule.rule.shadow
            name, judges = rule.rule.name, rule.judges
            yield Verdict(
                run, release, revision, name, rule.digest, evaluations, scope, shadow, judges, compiled_rule=rule,
                known_forbidden=known,
            )  # fmt: skip


def _has_fail(verdicts: Sequence[Verdict]) -> bool:
    for verdict in verdicts:
        for evaluation in verdict.evaluations:
            if evaluation.score.label == "fail":
                return True
    return False


def _unknown_keys(run: Run) -> frozenset[str]:
    """Returns what rules match that the run lacks, and a span that was not received may carry."""
    unknown = set[str]()
    for doubt in run.trajectory.doubts:
        if doubt == UNREAD:
            continue
        if doubt.name == "unknown_route":
            unknown.update(("route", "intent", "tenant"))
        elif doubt.name == "missing_anchor":  # who the agent is, only its own span tells
            unknown.add("agent")
    if not unknown and not run.unread:  # nearly always
        return _NOTHING_UNKNOWN
    known = context_of(run)
    return run.unread.union([key for key in unknown if getattr(known, key) is None])


def _rules_for(run: Run, rules: RuleSet, scope: str) -> _Selected:
    context, unknown = context_of(run), _unknown_keys(run)
    active, shadow = rules.select(context, scope), rules.select(context, scope, shadow=True)
    if unknown:
        # A rule that comes first may be the one: to be scored by the next would be an accident.
        if rules.select(context, scope, shadow=True, unknown=unknown) is not shadow:
            shadow = None
        if rules.select(context, scope, unknown=unknown) is not active:
            return _Selected(None, shadow, is_unknown=True)
    return _Selected(active, shadow, closest=rules.closest(context, scope) if active is None else None)


def _find_intent(run: Run, rules: RuleSet) -> None:
    if run.intent is None and rules.intents and run.user_input:
        run.found_intent = rules.find_intent(run.user_input)
        run.intent = run.found_intent.name
