"""Rules made ready, and what they say of a run: one evaluation for each scorer of the rule, whatever happens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from scorers import registry
from scorers.conformance import scorer as trajectory_scorer
from scorers.conformance.flattening import check_flattening, expected_calls, made_calls
from scorers.conformance.scorer import TrajectoryScorer
from scorers.judged.judge import JudgeScorer
from scorers.rules.arguments import Embed
from scorers.rules.intents import MAX_WORDS, FoundIntent, build_classifier
from scorers.rules.model import Intent, Rule, RuleFile, ScorerRef
from scorers.rules.parsing import Problem, RuleError, nearest, parse_rules
from scorers.rules.selection import RuleContext, RuleIndex
from scorers.rules.semantic_texts import SemanticTexts
from scorers.score import Score, error_score
from scorers.trajectory import Trajectory

TOLERANCE = 1e-9
DEFAULT_SAMPLE_RATE = 0.01
"""Share of the passing runs that a scorer with a model judges, unless the rule says another."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one scorer of a rule says of one run. ``version`` is the scorer's; the rule's first scorer is primary."""

    name: str
    score: Score
    version: str
    primary: bool
    complete: bool = True

    @property
    def counted(self) -> bool:
        """Whether it counts for or against the agent: not where spans are missing, nor where nothing can be said."""
        return self.complete and self.score.label in ("pass", "fail")


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """A scorer of a rule that asks a model, and how often it is asked."""

    name: str
    scorer: JudgeScorer
    version: str
    primary: bool
    sample_rate: float
    threshold: float

    def evaluation(self, score: Score, *, complete: bool) -> Evaluation:
        """What the score says under the rule, which has a threshold of its own."""
        return Evaluation(self.name, _by_threshold(score, self.threshold), self.version, self.primary, complete)


class CompiledRule:
    """A rule ready to score runs: checked, its scorers built. Keep it: it remembers the shapes of runs it has met.

    Raises RuleError, with paths that start at the rule.
    """

    def __init__(self, rule: Rule, embed: Embed | None = None) -> None:
        self.rule = rule
        self.digest = digest(rule)
        self._native = _build_native(rule, embed)
        self.semantic_texts = SemanticTexts(rule)
        self._systems: dict[str, tuple[registry.Scorer, str]] = {}
        self._judges: list[RuleJudge] = []
        problems = []
        for at, ref in enumerate(rule.scorers):
            try:
                self._add(ref, primary=at == 0)
            except Exception as error:  # noqa: BLE001 - a scorer's factory may raise what it likes
                problems.append(Problem(("scorers", at), str(error) or type(error).__name__))
        if problems:
            raise RuleError(problems)

    @property
    def native(self) -> TrajectoryScorer:
        """The rule's expectation and constraints, ready to read runs."""
        return self._native

    @property
    def judges(self) -> Sequence[RuleJudge]:
        """The scorers of the rule that ask a model."""
        return self._judges

    def evaluate(self, trajectory: Trajectory) -> list[Evaluation]:
        """An evaluation for each scorer of the rule that asks no model, in their order.

        Never raises: a failed scorer is an error score.
        """
        found = []
        for at, ref in enumerate(self.rule.scorers):
            if ref.system in registry.JUDGES:
                continue
            name = ref.name or ref.system
            try:
                score = self._score(name, trajectory)
            except Exception as error:  # noqa: BLE001 - one scorer's failure is its own verdict
                score = error_score(error)
            version = self._systems[name][1] if name in self._systems else trajectory_scorer.VERSION
            found.append(Evaluation(name, score, version, at == 0, trajectory.complete))
        return found

    def _add(self, ref: ScorerRef, *, primary: bool) -> None:
        name = ref.name or ref.system
        version = registry.VERSIONS.get(ref.system, ref.system)
        if (create := registry.JUDGES.get(ref.system)) is not None:
            rate = DEFAULT_SAMPLE_RATE if ref.sample_rate is None else ref.sample_rate
            self._judges.append(RuleJudge(name, create(**ref.options), version, primary, rate, self.rule.pass_))
            return
        if ref.system not in registry.SCORERS:
            known = sorted({*registry.SCORERS, *registry.JUDGES})
            raise ValueError(f"unknown scorer {ref.system}{nearest(ref.system, known)}")
        if ref.sample_rate is not None:
            raise ValueError(f"{ref.system} asks no model and scores every run: it takes no sample_rate")
        if ref.system == trajectory_scorer.NAME:
            # What it compares with is the rule itself; options of its own could only contradict it.
            if ref.options:
                raise ValueError(f"{ref.system} takes no options: it scores what the rule expects")
            return
        check_flattening(self._native.pattern)
        scorer = registry.SCORERS[ref.system](**ref.options)
        self._systems[name] = (scorer, version)

    def _score(self, name: str, trajectory: Trajectory) -> Score:
        if name not in self._systems:
            return self._native.score(trajectory)
        reading, _ = self._native.read(trajectory)
        places = [at for at, call in enumerate(trajectory.calls) if call.executed]
        # A step of the pattern may be an alternative: only the reading of this run says which was meant.
        pattern = self._native.pattern
        expected = expected_calls(pattern, reading, trajectory) if pattern else []
        score = self._systems[name][0](expected=expected, actual=made_calls(trajectory, places))
        return _for_all_calls(_by_threshold(score, self.rule.pass_), places, len(trajectory.calls))


def _by_threshold(score: Score, threshold: float) -> Score:
    """The score labelled by the rule's own bar."""
    if score.value is None or score.label not in ("pass", "fail"):
        return score
    return replace(score, label="pass" if score.value >= threshold - TOLERANCE else "fail")


def _for_all_calls(score: Score, places: Sequence[int], calls: int) -> Score:
    """Outcomes for every call of the run; those the scorer was not given are unscored."""
    if len(score.outcomes) != len(places) or len(places) == calls:
        return score
    outcome_at = dict(zip(places, score.outcomes, strict=True))
    return replace(score, outcomes=tuple(outcome_at.get(at, "unscored") for at in range(calls)))


def _build_native(rule: Rule, embed: Embed | None) -> TrajectoryScorer:
    if embed is None and (path := _path_to(rule, "semantic")):
        raise RuleError([Problem(path, "semantic similarity needs embeddings: install the extra `semantic`")])
    try:
        return TrajectoryScorer(rule, embed)
    except (ValueError, RecursionError) as error:
        raise RuleError([Problem(("expect",), str(error))]) from None


def _path_to(value: Any, key: str) -> tuple[str | int, ...] | None:
    """The path to the first matcher with this key, at any depth of a rule."""
    if isinstance(value, BaseModel):
        value = {field.alias or name: getattr(value, name) for name, field in type(value).model_fields.items()}
        if value.get(key) is not None:
            return (key,)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for part, child in items:
        below = _path_to(child, key)
        if below is not None:
            return (part, *below)
    return None


class RuleSet:
    """The rules in force, in order; ``embed`` reads the examples of intents. Raises RuleError where two have one name."""

    def __init__(
        self, rules: Sequence[CompiledRule] = (), intents: Sequence[Intent] = (), embed: Embed | None = None
    ) -> None:
        self.rules = tuple(rules)
        self.intents = tuple(intents)
        names = [rule.rule.name for rule in self.rules]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise RuleError([Problem((), f"two rules are called {name}") for name in twice])
        self.digest = sha256("".join(rule.digest for rule in self.rules).encode()).hexdigest()[:12]
        self._scopes = frozenset(rule.rule.scope for rule in self.rules)  # asked for at each trace
        self._indexes = {
            (scope, shadow): RuleIndex([r for r in self.rules if (r.rule.scope, r.rule.shadow) == (scope, shadow)])
            for scope in ("run", "trace", "conversation")
            for shadow in (False, True)
        }
        self._find_intent = build_classifier(self.intents, embed)
        self._by_expression = build_classifier(self.intents)
        self._by_example = embed is not None and any(intent.examples for intent in self.intents)
        self.embeds = self._by_example or any(rule.semantic_texts for rule in self.rules)
        """Whether scoring may embed texts of a run."""

    def select(self, context: RuleContext, scope: str = "run", *, shadow: bool = False) -> CompiledRule | None:
        """The first rule of this scope that matches; of the shadow rules, which never displace others, if asked."""
        return self._indexes[scope, shadow].select(context)

    def has_scope(self, scope: str) -> bool:
        """Whether any rule scores this scope."""
        return scope in self._scopes

    def has_judges(self) -> bool:
        """Whether any rule has a scorer that asks a model."""
        return any(rule.judges for rule in self.rules)

    def find_intent(self, words: str) -> FoundIntent:
        """The intent a user's words show, and by what."""
        return self._find_intent(words)

    def text_to_embed(self, words: str) -> str | None:
        """What ``find_intent`` embeds of these words; None where it embeds nothing."""
        if not self._by_example or not words.strip() or self._by_expression(words).name is not None:
            return None
        return words[:MAX_WORDS]


def compile_rules(file: RuleFile, *, embed: Embed | None = None) -> list[CompiledRule]:
    """The rules of one file, ready. Raises RuleError with every problem's path in the file."""
    compiled, problems = [], []
    for at, rule in enumerate(file.rules):
        try:
            compiled.append(CompiledRule(rule, embed))
        except RuleError as error:
            problems += [Problem(("rules", at, *problem.path), problem.message) for problem in error.problems]
    if problems:
        raise RuleError(problems)
    return compiled


def load_rules(data: object, *, embed: Embed | None = None) -> RuleSet:
    """Plain data of one rule file into a set of rules. Raises RuleError."""
    file = parse_rules(data)
    return RuleSet(compile_rules(file, embed=embed), file.intents, embed)


def score_rule(rule: Rule, trajectory: Trajectory, *, embed: Embed | None = None) -> list[Evaluation]:
    """Evaluate one run by one rule. For many runs keep a `CompiledRule`. Raises RuleError."""
    return CompiledRule(rule, embed).evaluate(trajectory)


def digest(rule: Rule) -> str:
    """12 hex digits that change when the rule's meaning may: of its canonical form, shorthands written out."""
    # Defaults are left out, so that a key a later version adds does not change the digest of every rule without it.
    plain = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"description"})
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:12]
