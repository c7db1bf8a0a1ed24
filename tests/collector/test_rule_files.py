"""Rule files: several, or a folder; mistakes with file and line; their own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.rule_files import check_rules, load_rules

GOOD = """
rules:
  - name: refund
    match: {attributes: {"customer.tier": gold}}
    expect: {sequence: [lookup, refund]}
tests:
  - {name: fine, rule: refund, calls: [lookup, refund], passes: true}
"""


def write(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text)
    return paths


def test_rules_of_several_files_stand_in_their_order(tmp_path: Path) -> None:
    rules = load_rules(write(tmp_path, a=GOOD, b=GOOD.replace("refund", "other")))
    assert [rule.rule.name for rule in rules.set.rules] == ["refund", "other"]
    assert [name for name, _ in rules.files] == ["a.yaml", "b.yaml"]
    assert rules.attributes == {"customer.tier"}


def test_the_digest_of_a_file_changes_with_it(tmp_path: Path) -> None:
    first = load_rules(write(tmp_path, a=GOOD)).files
    second = load_rules(write(tmp_path, a=GOOD + "# more\n")).files
    assert first != second


MISTAKES = [
    ("rules:\n  - name: x\n    expct: {}\n", "a.yaml:3: rules.0.expct: unknown key expct; did you mean expect?"),
    (
        "rules:\n  - name: x\n    expect:\n      sequence:\n        - one_off: [a]\n",
        "a.yaml:5: rules.0.expect.sequence.0",
    ),
    ("rules:\n  - match: {}\n", "name is missing"),
    ("rules:\n  - name: x\n    expect: {tool: {regex: '('}}\n", "a.yaml:3"),
    (
        "rules:\n  - name: x\n    scorers: [evalight]\n",
        "a.yaml:3: rules.0.scorers.0: unknown scorer evalight; did you mean evalite?",
    ),
    ("rules: [\n", "a.yaml:2: not YAML"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_name_file_line_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rules(write(tmp_path, a=text))
    assert message in str(caught.value)


def test_every_mistake_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rules(write(tmp_path, a="rules:\n  - nam: x\n", b="ruls: []\n"))
    text = str(caught.value)
    assert "a.yaml:2" in text
    assert "b.yaml:1: ruls: unknown key ruls; did you mean rules?" in text


def test_two_rules_of_one_name_in_different_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a.yaml, b.yaml: .*two rules are called refund"):
        load_rules(write(tmp_path, a=GOOD, b=GOOD))


def test_check_runs_the_files_own_tests(tmp_path: Path) -> None:
    report, passed = check_rules(write(tmp_path, a=GOOD))
    assert passed
    assert report.endswith("a.yaml: 1 rules, 1 of 1 tests pass")


def test_a_failing_test_is_shown_with_what_was_expected(tmp_path: Path) -> None:
    report, passed = check_rules(write(tmp_path, a=GOOD.replace("calls: [lookup, refund]", "calls: [refund]")))
    assert not passed
    assert "0 of 1 tests pass" in report
    assert "lookup" in report
