"""Rule files: read, checked, compiled; every mistake of every file with its line."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.config.yaml_documents import Document, load_yaml
from collector.errors import ConfigError
from collector.scoring import embeddings
from scorers import CompiledRule, RuleError, RuleFile, RuleSet, compile_rules, parse_rules


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The rules in force, and the files they came from with a digest of each."""

    set: RuleSet
    files: Sequence[tuple[str, str]] = ()

    @property
    def attributes(self) -> frozenset[str]:
        """The span attributes some rule looks at."""
        return frozenset(key for rule in self.set.rules for key in rule.rule.match.attributes)

    def judges(self, names: Container[str]) -> Iterator[tuple[str, str]]:
        """Of the rules with these names: rule and scorer, for each scorer that asks a model."""
        for rule in self.set.rules:
            if rule.rule.name in names:
                yield from ((rule.rule.name, judge.name) for judge in rule.judges)


def load_rules(paths: Iterable[Path]) -> LoadedRules:
    """Read rule files; first match wins across them, in the order of the paths. Raises ConfigError with every mistake."""
    mistakes, compiled, intents, files = [], [], [], []
    for path in paths:
        try:
            document = load_yaml(path)
            file = _parse(document)
            compiled += _compile(document, file)
        except ConfigError as error:
            mistakes.append(str(error))
        else:
            intents += file.intents
            files.append((path.name, hashlib.sha256(path.read_bytes()).hexdigest()[:12]))
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    try:
        return LoadedRules(RuleSet(compiled, intents, embeddings.installed()), files)
    except (RuleError, OSError) as error:
        raise ConfigError(f"{', '.join(name for name, _ in files)}: {error}") from None


def check_rules(paths: Iterable[Path]) -> tuple[str, bool]:
    """Load rule files and run their own tests; a report, and whether all is well. Raises ConfigError as ``load_rules``."""
    from scorers.rule_tests import run_tests  # noqa: PLC0415 - a running collector tests nothing

    paths = list(paths)
    rules = load_rules(paths)
    lines, passed = [], True
    for path in paths:
        file = _parse(load_yaml(path))
        results = run_tests(file, rules.set)
        failures = [result for result in results if not result.passed]
        passed = passed and not failures
        lines.append(f"{path}: {len(file.rules)} rules, {len(results) - len(failures)} of {len(results)} tests pass")
        lines += [f"{path}: {failure.text}" for failure in failures]
        lines += [
            f"{path}: {scorer} of rule {rule} asks a model, which only `rightcall run` does: it is not tested"
            for rule, scorer in rules.judges({rule.name for rule in file.rules})
        ]
        if embeddings.installed() is None and any(intent.examples for intent in file.intents):
            lines.append(f"{path}: the examples of its intents are not read: {embeddings.MISSING}")
    return "\n".join(lines) or "no rule files", passed


def _parse(document: Document) -> RuleFile:
    try:
        return parse_rules(document.data)
    except RuleError as error:
        raise document.error((problem.path, problem.message) for problem in error.problems) from None


def _compile(document: Document, file: RuleFile) -> list[CompiledRule]:
    embed = embeddings.installed()
    only_examples = [at for at, i in enumerate(file.intents) if i.examples and not (i.keywords or i.regex)]
    if embed is None and only_examples:
        told = f"nothing but examples shows this intent, and {embeddings.MISSING}"
        raise document.error((("intents", at, "examples"), told) for at in only_examples)
    try:
        return compile_rules(file, embed=embed)
    except RuleError as error:
        raise document.error((problem.path, problem.message) for problem in error.problems) from None
