"""Loads, validates and compiles rule files; reports every mistake in every file with its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from collector.config.model import Config
from collector.config.yaml_documents import Document, Where, let_go, load_yaml
from collector.errors import ConfigError, UnreadableError
from collector.scoring import embeddings, plugins
from scorers import CompiledRule, Problem, Rule, RuleError, RuleFile, RuleSet, RuleTest, compile_rules, parse_rules
from scorers.conformance.scorer import NAME as DEFAULT_SCORER
from scorers.plugins import SCORERS as PLUGINS
from scorers.quoting import shorten
from scorers.registry import VERSIONS
from scorers.rule_mistakes import hiding, never_kept, slips, unseen
from scorers.rules.matchers import plugged_matchers
from scorers.wording import quantity


class Remark(NamedTuple):
    """Something in a rule file that is accepted and hardly meant; ``is_mistake`` if it cannot be meant at all."""

    text: str
    is_mistake: bool


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Compiled rules, and name and digest of each file they were loaded from."""

    set: RuleSet
    files: Sequence[tuple[str, str]] = ()
    remarks: Sequence[Remark] = ()
    """What is accepted and hardly meant."""
    written: Mapping[bytes, CompiledRule] = field(default_factory=dict)
    """The rules by a digest of what is written of each."""
    reads_all_attributes: bool = False
    """Whether runs are read for rules that come later, and may match by any attribute."""

    def judges(self, names: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield rule and scorer for each scorer of the named rules that uses a judge."""
        for rule in self.set.rules:
            if rule.rule.name in names:
                yield from ((rule.rule.name, judge.name) for judge in rule.judges)


_Read = list[tuple[Document, RuleFile]]


def load_rules(
    paths: Iterable[Path], before: LoadedRules | None = None, pause: Callable[[], None] | None = None
) -> LoadedRules:
    """Load rule files. Rules are matched in the order of the paths; the first match wins. Raises ConfigError.

    The error lists every mistake in every file. Rules that are written as they were ``before`` are not compiled again.
    ``pause`` is called about once a millisecond or more, so that others can go on meanwhile.
    """
    rules, read = _load(paths, before, pause)
    for document, _ in read:
        let_go(document.lines, pause)
    return rules


def _load(
    paths: Iterable[Path], before: LoadedRules | None = None, pause: Callable[[], None] | None = None
) -> tuple[LoadedRules, _Read]:
    # Before parsing: rules may name scorers and matchers of other packages.
    plugins.find_plugins()
    mistakes, compiled, intents = [], [], []
    kind = ConfigError
    read: _Read = []
    place_of: dict[str, str] = {}
    known = before.written if before is not None else {}
    written: dict[bytes, CompiledRule] = {}
    for path in paths:
        try:
            document = load_yaml(path, pause=pause)
            digests = _digests(document)
            file = _parse(
                document, {at: known[digest].rule for at, digest in digests.items() if digest in known}, pause
            )
            found = _compile(document, file, known.values(), pause)
        except ConfigError as error:
            mistakes.append(str(error))
            kind = UnreadableError if isinstance(error, UnreadableError) else kind
            continue
        compiled += found
        written |= {digest: found[at] for at, digest in digests.items()}
        for index, rule in enumerate(file.rules):
            place = document.place(("rules", index))
            if rule.name in place_of:
                mistakes.append(f"{place}: rule {rule.name}: a rule of this name is already at {place_of[rule.name]}")
            place_of.setdefault(rule.name, place)
        intents += file.intents
        read.append((document, file))
    if mistakes:
        raise kind("\n".join(mistakes))
    files = _named([document for document, _ in read])
    try:
        rules = RuleSet(compiled, intents, embeddings.installed())
        return LoadedRules(rules, files, list(_remarks(read, rules, pause)), written), read
    except (RuleError, OSError) as error:
        raise ConfigError(f"{', '.join(name for name, _ in files)}: {error}") from None


def _named(documents: Sequence[Document]) -> list[tuple[str, str]]:
    """Returns the name of each file, with its folder where several have the same name, and its digest."""
    times = Counter(document.path.name for document in documents)
    named = []
    for document in documents:
        path = document.path
        name = path.name if times[path.name] == 1 else f"{path.parent.name}/{path.name}"
        named.append((name, document.digest))
    return named


def _digests(document: Document) -> dict[int, bytes]:
    """Returns digests of what is written of each rule, by position."""
    return {
        at: sha256(repr(rule).encode("utf-8", "surrogatepass")).digest()
        for at, rule in enumerate(_written_rules(document.data))
    }


def _written_rules(data: object) -> list[object]:
    """Returns the entries of the list of rules; none where there is no such list."""
    rules = data.get("rules") if isinstance(data, dict) else None
    return rules if isinstance(rules, list) else []


def check_rules(paths: Iterable[Path], watched: Callable[[Sequence[Rule]], Iterable[Rule]] = iter) -> tuple[str, bool]:
    """Load rule files and run their tests. Returns a report, and whether all tests passed. Raises ConfigError.

    ``watched`` shows how far the checks of the rules of a file are.
    """
    from scorers.rule_tests import run_tests  # noqa: PLC0415 - a running collector does not need these
    from scorers.worst_case import CALLS, Exceeded, exceeded_limit  # noqa: PLC0415

    rules, read = _load(paths)
    lines = [remark.text for remark in rules.remarks]
    passed = not any(remark.is_mistake for remark in rules.remarks)
    compiled = {rule.rule.name: rule for rule in rules.set.rules}
    known = dict[str, Exceeded | None]()  # by what the rule asks for: rules for many routes often ask for the same
    for document, file in read:
        path = document.path
        results = run_tests(file, rules.set)
        failures = [(index, result) for index, result in enumerate(results) if not result.passed]
        passed = passed and not failures
        lines.append(
            f"{path}: {quantity(len(file.rules), 'rule')}, {len(results) - len(failures)} of {len(results)} tests pass"
        )
        lines += [f"{document.place(('tests', index))}: {failure.text}" for index, failure in failures]
        lines += [f"{path}: {name} is {origin}" for name, origin in _origins(file)]
        lines += [
            f"{path}: {scorer} of rule {rule} needs a judge, which only `rightcall run` has: not tested"
            for rule, scorer in rules.judges({rule.name for rule in file.rules})
        ]
        for index, rule in enumerate(watched(file.rules)):
            asked = rule.model_dump_json(include={"expect", "scorers"})
            if asked not in known:
                known[asked] = exceeded_limit(compiled[rule.name])
            if (exceeded := known[asked]) is not None:
                place = document.place(("rules", index, *exceeded.path))
                lines.append(
                    f"{place}: warning: rule {rule.name}: on a hostile run of {CALLS} calls {exceeded.message}"
                )
        if embeddings.installed() is None and any(intent.examples for intent in file.intents):
            lines.append(f"{path}: the examples of its intents are ignored: {embeddings.MISSING}")
    return "\n".join(lines) or "no rule files", passed


def _origins(file: RuleFile) -> list[tuple[str, str]]:
    """Scorers that the rules name, matchers of other packages, and where each comes from; none where all use the default."""
    named = {ref.system for rule in file.rules for ref in rule.scorers}
    found = {
        (name, f"a scorer of {PLUGINS[name].package}" if name in PLUGINS else f"a built-in scorer: {VERSIONS[name]}")
        for name in (named if len(named) > 1 else named - {DEFAULT_SCORER})
    }
    return sorted(found | {(one.name, f"a matcher of {one.package}") for one in plugged_matchers(file.rules)})


def _remarks(read: _Read, rules: RuleSet, pause: Callable[[], None] | None) -> Iterator[Remark]:
    before: dict[tuple[str, bool, str], Rule] = {}
    place_of: dict[str, str] = {}
    for document, file in read:
        if not (file.rules or file.intents or file.tests):
            yield Remark(f"{document.path}: there are no rules, intents or tests in this file", is_mistake=True)
        tests_of: dict[str, list[RuleTest]] = {}
        for test in file.tests:
            tests_of.setdefault(test.rule, []).append(test)
        for index, rule in enumerate(file.rules):
            if pause is not None:
                pause()
            place = document.place(("rules", index))
            hidden_by = before.setdefault((rule.scope, rule.shadow, rule.match.model_dump_json()), rule)
            if hidden_by is rule:
                hidden_by = hiding(rule, rules) or rule
            if hidden_by.name in place_of:
                other = f"rule {hidden_by.name} ({place_of[hidden_by.name]})"
                message = f"is never used: {other} before it scores the same runs; narrow that one, or move it down"
                yield Remark(f"{place}: rule {rule.name} {message}", is_mistake=True)
            place_of[rule.name] = place
            yield from _remarks_on(rule, place, tests_of.get(rule.name, ()))
        for index, intent in enumerate(file.intents):
            if not (intent.keywords or intent.regex or intent.examples):
                message = f"intent {intent.name} is never found: give it keywords, a regex or examples"
                yield Remark(f"{document.place(('intents', index))}: {message}", is_mistake=True)
        yield from _misread(document)
        for where, text in document.unreplaced.items():
            message = (
                f"{shorten(text)} stays as it is, since the rules are to be the same everywhere: variables are replaced in a"
                " configuration alone; write the value, or a {regex: ...} where the text itself is meant"
            )
            yield Remark(f"{document.place(where)}: {_path(document, where)}: {message}", is_mistake=True)


def _remarks_on(rule: Rule, place: str, tests: Sequence[RuleTest]) -> Iterator[Remark]:
    """What is said of one rule, whatever the others are."""
    if "match" not in rule.model_fields_set:
        message = "it has no `match` and scores every run; write `match: {}` if that is meant"
        yield Remark(f"{place}: warning: rule {rule.name}: {message}", is_mistake=False)
    for contradiction in never_kept(rule):
        yield Remark(f"{place}: rule {rule.name} is never kept: it {contradiction}", is_mistake=True)
    for slip in (*unseen(rule), *(slips(rule, tests) if tests else ())):
        yield Remark(f"{place}: warning: rule {rule.name}: {slip}", is_mistake=False)


def _misread(document: Document) -> Iterator[Remark]:
    """Literals such as ``no``, which YAML takes for false and a reader for a country."""
    for where, (written, value) in document.misread.items():
        if "arguments" in where or "calls" in where:
            message = (
                f'{_reading(written, value)}; write "{shorten(written)}" for the text, else {_unmistakable(value)}'
            )
            yield Remark(f"{document.place(where)}: warning: {_path(document, where)}: {message}", is_mistake=False)


def _reading(written: str, value: object) -> str:
    return f"YAML reads {shorten(written)} as {'a text' if isinstance(value, str) else _unmistakable(value)}"


def _instead(written: str, value: object) -> str:
    """Returns what to write where a value is refused: the text that was read as a number, or the number."""
    return _unmistakable(value) if isinstance(value, str) else f'"{shorten(written)}"'


def _unmistakable(value: object) -> str:
    """Returns what to write for what YAML has read, and for the number that a text such as `1e3` may mean."""
    return "the number with a dot and a sign, as 1.0e+3" if isinstance(value, str) else str(value).lower()


def _error(document: Document, problems: Iterable[Problem]) -> ConfigError:
    """Returns an error with a line for each problem, which names the rule, test or intent that it is in."""
    lines = []
    for problem in problems:
        earlier = f" (line {document.lines.get(problem.earlier, 1)})" if problem.earlier else ""
        misread = document.misread.get(problem.path)
        read_as = f"; {_reading(*misread)}: write {_instead(*misread)}" if misread else ""
        lines.append(
            f"{document.place(problem.path)}: {_path(document, problem.path)}: {problem.message}{earlier}{read_as}"
        )
    return ConfigError("\n".join(lines))


def _path(document: Document, where: Where) -> str:
    """Returns a place in a rule file by the name of its rule, test or intent: ``rule refund: expect.sequence.0``."""
    if len(where) > 1 and where[0] in _KINDS and isinstance(where[1], int):
        named = document.data[where[0]][where[1]]
        name = named.get("name") if isinstance(named, dict) else None
        if isinstance(name, str) and name:
            return ": ".join(
                [f"{_KINDS[where[0]]} {shorten(name)}", *[".".join(map(str, where[2:]))][: len(where) - 2]]
            )
    return ".".join(map(str, where)) or "file"


_KINDS: Mapping[str | int, str] = {"rules": "rule", "tests": "test", "intents": "intent"}


def _parse(document: Document, known: Mapping[int, Rule], pause: Callable[[], None] | None) -> RuleFile:
    """Parse all but the ``known`` rules, by position."""
    data = document.data
    if (section := _section_of_a_configuration(data)) is not None:
        message = "this is the configuration of a collector, not rules; `rightcall check --config` checks it"
        raise _error(document, [Problem((section,), message)])
    if known:
        data = {**data, "rules": [known.get(at, rule) for at, rule in enumerate(data["rules"])]}
    try:
        return parse_rules(data, pause)
    except RuleError as error:
        raise _error(document, error.problems) from None


def _section_of_a_configuration(data: object) -> str | None:
    """Returns the first key that only a configuration has, unless there is a rule in the file: then it is out of place."""
    if not isinstance(data, dict) or any(isinstance(rule, dict) for rule in _written_rules(data)):
        return None
    return next((key for key in data if key in Config.model_fields and key not in RuleFile.model_fields), None)


def _compile(
    document: Document, file: RuleFile, known: Iterable[CompiledRule], pause: Callable[[], None] | None
) -> list[CompiledRule]:
    embed = embeddings.installed()
    only_examples = [index for index, i in enumerate(file.intents) if i.examples and not (i.keywords or i.regex)]
    if embed is None and only_examples:
        message = f"this intent has only examples, and {embeddings.MISSING}"
        raise _error(document, [Problem(("intents", index, "examples"), message) for index in only_examples])
    try:
        return compile_rules(file, embed=embed, known=known, pause=pause)
    except RuleError as error:
        raise _error(document, error.problems) from None
