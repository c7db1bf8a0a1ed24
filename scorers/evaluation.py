"""Compiled rules, and their evaluations of a run: always one for each scorer of the rule, even if a scorer fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from scorers import registry
from scorers.call_scorer import CallScorer, PluginScorer, Scorer
from scorers.conformance import declared
from scorers.conformance import scorer as trajectory_scorer
from scorers.conformance.difference import Difference
from scorers.conformance.flattening import actual_calls, check_flattening, expected_calls
from scorers.conformance.forbidden import with_forbidden
from scorers.conformance.scorer import TrajectoryScorer
from scorers.doubts import DECIDING, decide, without_pass
from scorers.judged.judge import JudgeScorer
from scorers.options import check_options
from scorers.plugins import SCORERS as PLUGINS
from scorers.plugins import PluginError
from scorers.rules.arguments import Embed
from scorers.rules.matchers import plugged_matchers
from scorers.rules.model import Rule, ScorerRef
from scorers.rules.parsing import Problem, RuleError
from scorers.rules.selection import CompiledMatch
from scorers.rules.semantic_texts import SemanticTexts
from scorers.score import Score, error_score, reaches
from scorers.slips import with_slips
from scorers.trajectory import Trajectory
from scorers.unseen_arguments import score_unseen
from scorers.wording import nearest
from scorers.work import Work, WorkLimitError

DEFAULT_SAMPLE_RATE = 0.01
"""Share of the passing runs that a scorer with a model judges, unless the rule sets another."""


@dataclass(slots=True, init=False)
class Evaluation:
    """The score of one run by one scorer of a rule. ``version`` is the scorer's; the rule's first scorer is primary."""

    # With an `__init__` of its own: that of a dataclass stays interpreted in the compiled build.
    name: Final[str]
    score: Final[Score]
    version: Final[str]
    primary: Final[bool]

    def __init__(self, name: str, score: Score, version: str, primary: bool) -> None:
        self.name, self.score, self.version, self.primary = name, score, version, primary


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """A scorer of a rule that asks a model, and the share of runs it judges."""

    name: str
    scorer: JudgeScorer
    version: str
    primary: bool
    sample_rate: float
    threshold: float

    def evaluation(self, score: Score) -> Evaluation:
        """Returns the evaluation of this score, labelled by the rule's own threshold."""
        return Evaluation(self.name, _by_threshold(score, self.threshold), self.version, self.primary)


class _System(NamedTuple):
    """A published scorer of a rule."""

    scorer: Scorer
    version: str
    reads_expected: bool
    tells_failures_apart: bool
    reads_arguments: bool
    asked: Sequence[Mapping[str, Any]]
    """Arguments of calls that its options ask for."""


class CompiledRule:
    """A rule, validated and with its scorers built. Reuse it: it caches the scores of the run shapes it has seen.

    Raises RuleError, with paths that start at the rule.
    """

    def __init__(self, rule: Rule, embed: Embed | None = None) -> None:
        self.rule = rule
        self.digest = digest(rule)
        self.match = CompiledMatch(rule.match)
        self._native = _build_native(rule, embed)
        self.semantic_texts = SemanticTexts(rule)
        self._systems: dict[str, _System] = {}
        self._judges: list[RuleJudge] = []
        problems = []
        for index, ref in enumerate(rule.scorers):
            try:
                self._add(ref, primary=index == 0)
            # All problems are collected, so that one `check` shows what is wrong with every scorer.
            except Exception as error:  # noqa: BLE001 - a scorer's factory may raise anything
                problems.append(Problem(("scorers", index), str(error) or type(error).__name__))
        if problems:
            raise RuleError(problems)
        self._is_native_alone = [ref.system for ref in rule.scorers] == [
            trajectory_scorer.NAME
        ] and rule.schema_ is None
        self._material = DECIDING - self._native.immaterial

    @property
    def native(self) -> TrajectoryScorer:
        """The scorer of the rule's own expectation and constraints."""
        return self._native

    @property
    def judges(self) -> Sequence[RuleJudge]:
        """The scorers of the rule that ask a model."""
        return self._judges

    def evaluate(self, trajectory: Trajectory, before_each: Callable[[], None] | None = None) -> Sequence[Evaluation]:
        """Returns an evaluation for each scorer of the rule that asks no model, in their order.

        Runs of one shape nearly always get one and the same tuple, which never changes: what follows from that may be kept
        by its identity, for as long as it is kept itself.

        Never raises: the score of a scorer that raised is an error score. ``before_each`` is called before each part of a
        scorer's work, which may take a while.
        """
        if self._is_native_alone and not any(doubt.name in self._material for doubt in trajectory.doubts):
            return self._evaluate_shape(trajectory, before_each)
        evaluations = []
        for index, ref in enumerate(self.rule.scorers):
            if ref.system in registry.JUDGES:
                continue
            name = ref.name or ref.system
            try:
                # A limit for each scorer: an expensive one must not make errors of those after it.
                score = with_slips(self._score(name, trajectory, Work(before_each)), trajectory)
            except Exception as error:  # noqa: BLE001 - one scorer's failure does not affect the others
                score = error_score(error)
            if name in self._systems or score.label == "error":
                score = with_forbidden(
                    score, self._native, trajectory, Work(before_each), is_native=name not in self._systems
                )
            version = self._systems[name].version if name in self._systems else trajectory_scorer.VERSION
            evaluations.append(Evaluation(name, score, version, index == 0))
        if self.rule.schema_ == "declared":
            evaluations.append(_declared(trajectory, Work(before_each)))
        return evaluations

    def _evaluate_shape(self, trajectory: Trajectory, before_each: Callable[[], None] | None) -> Sequence[Evaluation]:
        """As `evaluate`, by the native scorer alone, of a run without doubts: what it says depends on the shape only."""
        name = self.rule.scorers[0].name or self.rule.scorers[0].system
        try:
            result = self._native.result(trajectory, Work(before_each))
        except Exception as error:  # noqa: BLE001 - as above
            score = with_forbidden(error_score(error), self._native, trajectory, Work(before_each), is_native=True)
            return [Evaluation(name, score, trajectory_scorer.VERSION, primary=True)]
        known: tuple[Evaluation, ...] | None = result.evaluations
        if known is None:
            score = without_pass(trajectory, result.score)
            made = [Evaluation(name, score, trajectory_scorer.VERSION, primary=True)]
            # By `tuple`: one written out is made anew by compiled code wherever it is used, and this has to stay one object.
            result.evaluations = known = tuple(made)
        # Not kept: a name that the rule does not ask for is no part of the shape.
        told = with_slips(known[0].score, trajectory)
        return known if told is known[0].score else [replace(known[0], score=told)]

    def difference(self, trajectory: Trajectory) -> Difference:
        """Returns what differs between the run and the rule's expectation; nothing where that takes too much work."""
        try:
            return self._native.difference(trajectory)
        except (WorkLimitError, PluginError):  # the score says so
            return Difference(())

    def difference_key(self, trajectory: Trajectory) -> Hashable | None:
        """As `TrajectoryScorer.difference_key`; None where that takes too much work, of which `difference` says nothing."""
        try:
            return self._native.difference_key(trajectory)
        except (WorkLimitError, PluginError):
            return None

    def _add(self, ref: ScorerRef, *, primary: bool) -> None:
        name = ref.name or ref.system
        plugin = None if ref.system in registry.OPTIONS else PLUGINS.get(ref.system)
        version = plugin.package if plugin else registry.VERSIONS.get(ref.system, ref.system)
        if ref.system in registry.OPTIONS and ref.system != trajectory_scorer.NAME:
            check_options(ref.system, registry.OPTIONS[ref.system], ref.options)
        if (create := registry.JUDGES.get(ref.system)) is not None:
            rate = DEFAULT_SAMPLE_RATE if ref.sample_rate is None else ref.sample_rate
            self._judges.append(RuleJudge(name, create(**ref.options), version, primary, rate, self.rule.pass_))
            return
        if plugin is None and ref.system not in registry.SCORERS:
            known = sorted({*registry.SCORERS, *registry.JUDGES, *PLUGINS})
            raise ValueError(f"unknown scorer {ref.system}{nearest(ref.system, known)}")
        if ref.sample_rate is not None:
            raise ValueError(f"{ref.system} asks no model and scores every run: it has no sample_rate")
        if ref.system == trajectory_scorer.NAME:
            # It scores the rule itself; options of its own could only contradict the rule.
            if ref.options:
                raise ValueError(f"{ref.system} has no options in a rule: it scores what the rule expects")
            return
        scorer = PluginScorer(plugin, ref.options) if plugin else registry.SCORERS[ref.system](**ref.options)
        reads_expected = not isinstance(scorer, CallScorer | PluginScorer) or scorer.reads_expected
        reads_arguments = not isinstance(scorer, CallScorer | PluginScorer) or scorer.reads_arguments
        if reads_expected:
            check_flattening(self._native.pattern)
        apart = isinstance(scorer, CallScorer) and scorer.tells_failures_apart
        asked = scorer.asked if isinstance(scorer, CallScorer) else ()
        self._systems[name] = _System(scorer, version, reads_expected, apart, reads_arguments, asked)

    def _score(self, name: str, trajectory: Trajectory, work: Work) -> Score:
        if not trajectory.doubts:
            return without_pass(trajectory, self._score_calls(name, work, trajectory))
        score = partial(self._score_calls, name, work)
        # Nothing is known of how a published score moves with further calls, so under doubts of more calls none stands.
        is_published, collapses = name in self._systems, self._native.collapses_retries
        is_final = _is_never_final if is_published else partial(self._native.is_final, work=work)
        immaterial = () if is_published else self._native.immaterial
        apart = is_published and self._systems[name].tells_failures_apart
        return decide(
            trajectory, score, is_final, work, immaterial, collapses_retries=collapses, tells_failures_apart=apart
        )

    def _score_calls(self, name: str, work: Work, trajectory: Trajectory) -> Score:
        if name not in self._systems:
            return self._native.score(trajectory, work)
        system = self._systems[name]
        # The originals know only calls that were made; `_for_all_calls` maps their outcomes back to the whole run.
        executed = [index for index, call in enumerate(trajectory.calls) if call.executed]
        pattern = self._native.pattern
        expected = []
        if pattern and system.reads_expected:
            # Where the pattern has alternatives, only the alignment with this run tells which of them is expected. As listed,
            # since the originals know no concurrency: they read the calls that were made in that order, too.
            diagnosis = self._native.diagnose_as_listed(trajectory, work)
            expected = expected_calls(pattern, diagnosis, trajectory, work)
        actual = actual_calls(trajectory, executed)

        def score_of(made: Sequence[Mapping[str, Any]]) -> Score:
            return _by_threshold(system.scorer(expected=expected, actual=made, work=work), self.rule.pass_)

        if system.reads_arguments:
            made = [(index, trajectory.calls[index]) for index in executed]
            score = score_unseen(score_of, (expected, actual), system.asked, made, work)
        else:
            score = score_of(actual)
        return _for_all_calls(score, executed, len(trajectory.calls))


def _declared(trajectory: Trajectory, work: Work) -> Evaluation:
    try:
        score = decide(
            trajectory,
            lambda other: declared.score_declared(other, work),
            declared.is_final,
            work,
            declared.IMMATERIAL,
        )
    except Exception as error:  # noqa: BLE001 - as that of any scorer
        score = error_score(error)
    return Evaluation(declared.NAME, score, declared.VERSION, primary=False)


def _is_never_final(trajectory: Trajectory, score: Score) -> bool:
    return False


def _by_threshold(score: Score, threshold: float) -> Score:
    """Returns the score labelled by the rule's threshold."""
    if score.value is None or score.label not in ("pass", "fail"):
        return score
    return replace(score, label="pass" if reaches(score.value, threshold) else "fail")


def _for_all_calls(score: Score, executed: Sequence[int], calls: int) -> Score:
    """Returns the score with an outcome for every call of the run; calls that were not executed are unscored."""
    if len(score.outcomes) != len(executed) or len(executed) == calls:
        return score
    outcomes = dict(zip(executed, score.outcomes, strict=True))
    return replace(score, outcomes=tuple(outcomes.get(index, "unscored") for index in range(calls)))


def _build_native(rule: Rule, embed: Embed | None) -> TrajectoryScorer:
    if embed is None and (path := path_to(rule, "semantic")):
        raise RuleError([Problem(path, "semantic similarity needs embeddings: install the extra `semantic`")])
    try:
        return TrajectoryScorer(rule, embed)
    except (ValueError, RecursionError) as error:
        raise RuleError([Problem(("expect",), str(error))]) from None


def path_to(value: Any, key: str) -> tuple[str | int, ...] | None:
    """Returns the path of the first value that has this key, at any depth of a rule; None if there is none."""
    if isinstance(value, BaseModel):
        value = {field.alias or name: getattr(value, name) for name, field in type(value).model_fields.items()}
        if value.get(key) is not None:
            return (key,)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for part, child in items:
        below = path_to(child, key)
        if below is not None:
            return (part, *below)
    return None


def score_rule(rule: Rule, trajectory: Trajectory, *, embed: Embed | None = None) -> Sequence[Evaluation]:
    """Evaluate one run by one rule. For many runs reuse a `CompiledRule`. Raises RuleError."""
    return CompiledRule(rule, embed).evaluate(trajectory)


def digest(rule: Rule) -> str:
    """Returns 12 hex digits of the hash of the rule's canonical form. They change whenever its meaning may have changed."""
    # Without defaults, so that a key added in a later version does not change the digest of rules that do not use it.
    plain = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"description", "objective"})
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    text += "".join(matcher.package for matcher in plugged_matchers(rule))  # another version may match otherwise
    return sha256(text.encode()).hexdigest()[:12]
