"""Loads, validates and compiles rule files; reports every mistake in every file with its line."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.config.yaml_documents import Document, load_yaml
from collector.errors import ConfigError
from collector.scoring import embeddings
from scorers import CompiledRule, RuleError, RuleFile, RuleSet, compile_rules, parse_rules


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Compiled rules, and name and digest of each file they were loaded from."""

    set: RuleSet
    files: Sequence[tuple[str, str]] = ()

    @property
    def attributes(self) -> frozenset[str]:
        """The span attributes that rules match on."""
        return frozenset(key for rule in self.set.rules for key in rule.rule.match.attributes)

    def judges(self, names: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield rule and scorer for each scorer of the named rules that uses a judge."""
        for rule in self.set.rules:
            if rule.rule.name in names:
                yield from ((rule.rule.name, judge.name) for judge in rule.judges)


def load_rules(paths: Iterable[Path]) -> LoadedRules:
    """Load rule files. Rules are matched in the order of the paths; the first match wins. Raises ConfigError.

    The error lists every mistake in every file.
    """
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
            files.append((path.name, document.digest))
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    try:
        return LoadedRules(RuleSet(compiled, intents, embeddings.installed()), files)
    except (RuleError, OSError) as error:
        raise ConfigError(f"{', '.join(name for name, _ in files)}: {error}") from None


def check_rules(paths: Iterable[Path]) -> tuple[str, bool]:
    """Load rule files and run their tests. Returns a report, and whether all tests passed. Raises ConfigError."""
    from scorers.rule_tests import run_tests  # noqa: PLC0415 - a running collector does not need these
    from scorers.worst_case import CALLS, exceeded_limit  # noqa: PLC0415

    paths = list(paths)
    rules = load_rules(paths)
    lines, passed = [], True
    for path in paths:
        document = load_yaml(path)
        file = _parse(document)
        results = run_tests(file, rules.set)
        failures = [result for result in results if not result.passed]
        passed = passed and not failures
        lines.append(f"{path}: {len(file.rules)} rules, {len(results) - len(failures)} of {len(results)} tests pass")
        lines += [f"{path}: {failure.text}" for failure in failures]
        lines += [
            f"{path}: {scorer} of rule {rule} needs a judge, which only `rightcall run` has: not tested"
            for rule, scorer in rules.judges({rule.name for rule in file.rules})
        ]
        compiled = {rule.rule.name: rule for rule in rules.set.rules}
        for index, rule in enumerate(file.rules):
            if (exceeded := exceeded_limit(compiled[rule.name])) is not None:
                place = document.place(("rules", index, *exceeded.path))
                lines.append(
                    f"{place}: warning: rule {rule.name}: on a hostile run of {CALLS} calls {exceeded.message}"
                )
        if embeddings.installed() is None and any(intent.examples for intent in file.intents):
            lines.append(f"{path}: the examples of its intents are ignored: {embeddings.MISSING}")
    return "\n".join(lines) or "no rule files", passed


def _parse(document: Document) -> RuleFile:
    try:
        return parse_rules(document.data)
    except RuleError as error:
        raise document.error((problem.path, problem.message) for problem in error.problems) from None


def _compile(document: Document, file: RuleFile) -> list[CompiledRule]:
    embed = embeddings.installed()
    only_examples = [index for index, i in enumerate(file.intents) if i.examples and not (i.keywords or i.regex)]
    if embed is None and only_examples:
        message = f"this intent has only examples, and {embeddings.MISSING}"
        raise document.error((("intents", index, "examples"), message) for index in only_examples)
    try:
        return compile_rules(file, embed=embed)
    except RuleError as error:
        raise document.error((problem.path, problem.message) for problem in error.problems) from None
