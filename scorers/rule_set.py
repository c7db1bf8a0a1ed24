"""All rules in force: which one scores a run, and which intent a user's text has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from scorers.evaluation import CompiledRule
from scorers.rules.arguments import Embed
from scorers.rules.intents import MAX_INTENT_TEXT, FoundIntent, build_classifier
from scorers.rules.model import Intent, RuleFile
from scorers.rules.parsing import Problem, RuleError, parse_rules
from scorers.rules.selection import RuleContext, RuleIndex


class RuleSet:
    """The rules in force, in order; ``embed`` embeds the examples of intents. Raises RuleError for duplicate names."""

    def __init__(
        self, rules: Sequence[CompiledRule] = (), intents: Sequence[Intent] = (), embed: Embed | None = None
    ) -> None:
        self.rules = tuple(rules)
        self.intents = tuple(intents)
        named = Counter(rule.rule.name for rule in self.rules)
        duplicates = [name for name, count in named.items() if count > 1]
        if duplicates:
            raise RuleError([Problem((), f"two rules are named {name}") for name in duplicates])
        self.digest = sha256("".join(rule.digest for rule in self.rules).encode()).hexdigest()[:12]
        self._scopes = frozenset(rule.rule.scope for rule in self.rules)  # looked up for each trace
        self._routed_scopes = frozenset(rule.rule.scope for rule in self.rules if rule.rule.match.route is not None)
        # Here, on the thread that loads rules, since the event loop asks for them when it takes these over.
        self._has_judges = any(rule.judges for rule in self.rules)
        self.attributes = frozenset(key for rule in self.rules for key in rule.rule.match.attributes)
        """The span attributes that rules match on."""
        intents_read = [intent.model_dump_json() for intent in self.intents]
        self._indexes = {
            # Apart, so that the first match of one kind never hides that of another.
            (scope, shadow): RuleIndex([r for r in self.rules if (r.rule.scope, r.rule.shadow) == (scope, shadow)])
            for scope in ("run", "trace", "conversation")
            for shadow in (False, True)
        }
        self.reads_definitions = any(rule.rule.schema_ is not None for rule in self.rules)
        """Whether any rule looks at the definitions of tools."""
        self.reads_intents = any(rule.rule.match.intent is not None for rule in self.rules)
        """Whether any rule matches by the intent."""
        self.reading = sha256(repr((sorted(self.attributes), self.reads_intents, intents_read)).encode()).hexdigest()[
            :12
        ]
        """A digest of what is read of runs to find out which rules match."""
        self._find_intent = build_classifier(self.intents, embed)
        # Without embeddings: tells cheaply whether a text has to be embedded at all.
        self._by_expression = build_classifier(self.intents)
        self._by_example = embed is not None and any(intent.examples for intent in self.intents)
        self.embeds = self._by_example or any(rule.semantic_texts for rule in self.rules)
        """Whether scoring a run may need embeddings."""

    def select(
        self,
        context: RuleContext,
        scope: str = "run",
        *,
        shadow: bool = False,
        unknown: frozenset[str] = frozenset(),
    ) -> CompiledRule | None:
        """Returns the first rule of this scope that matches, among the shadow rules if ``shadow`` is set.

        What the run has of the keys that are ``unknown`` may be anything: the first rule that may match is returned.
        """
        return self._indexes[scope, shadow].select(context, unknown)

    def closest(self, context: RuleContext, scope: str) -> tuple[CompiledRule, list[str]] | None:
        """Returns the rule that comes closest to a run that none of this scope matches, and the keys in which they differ."""
        return self._indexes[scope, False].closest(context)

    def has_scope(self, scope: str) -> bool:
        """Whether any rule scores this scope."""
        return scope in self._scopes

    def matches_by_route(self, scope: str) -> bool:
        """Whether any rule of this scope matches by the route."""
        return scope in self._routed_scopes

    def has_judges(self) -> bool:
        """Whether any rule has a scorer that asks a model."""
        return self._has_judges

    def find_intent(self, text: str) -> FoundIntent:
        """Returns the intent of a user's text, and how it was found."""
        return self._find_intent(text)

    def text_to_embed(self, text: str) -> str | None:
        """Returns the part of the text that ``find_intent`` embeds; None if it embeds nothing."""
        if not self._by_example or not text.strip() or self._by_expression(text).name is not None:
            return None
        return text[:MAX_INTENT_TEXT]


def compile_rules(
    file: RuleFile,
    *,
    embed: Embed | None = None,
    known: Iterable[CompiledRule] = (),
    pause: Callable[[], None] | None = None,
) -> list[CompiledRule]:
    """Compile the rules of one file. Raises RuleError with every problem's path in the file.

    What ``known`` compiled from the very same rules is taken as it is. ``pause`` is called for each rule.
    """
    compiled, problems = [], []
    compiled_before = {id(one.rule): one for one in known}
    for index, rule in enumerate(file.rules):
        if pause is not None:
            pause()
        try:
            compiled.append(compiled_before.get(id(rule)) or CompiledRule(rule, embed))
        except RuleError as error:
            problems += [Problem(("rules", index, *problem.path), problem.message) for problem in error.problems]
    if problems:
        raise RuleError(problems)
    return compiled


def load_rules(data: object, *, embed: Embed | None = None) -> RuleSet:
    """Parse and compile the plain data of one rule file. Raises RuleError."""
    file = parse_rules(data)
    return RuleSet(compile_rules(file, embed=embed), file.intents, embed)
