"""The examples of ``scorers/README.md`` hold."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from scorers import RuleSet, compile_rules, parse_rules
from scorers.__main__ import answer
from scorers.rule_tests import run_tests
from scorers.rules.matchers import MATCHER_KEYS
from scorers.rules.model import CONSTRAINTS_OF_ONE, CONSTRAINTS_OF_TWO, ELEMENT_MODELS

ROOT = Path(__file__).parents[2]
README = (ROOT / "scorers" / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_there_are_examples() -> None:
    assert (len(blocks("yaml")), len(blocks("python")), len(blocks("jsonl"))) == (5, 4, 1)


@pytest.mark.parametrize("block", blocks("yaml"))
def test_rule_files_pass_their_own_tests(block: str) -> None:
    file = parse_rules(yaml.safe_load(block))

    results = run_tests(file, RuleSet(compile_rules(file), file.intents))

    assert results
    assert [result.text for result in results if not result.passed] == []


@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_run(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("block", blocks("jsonl"))
def test_cases_have_the_answers_shown(block: str) -> None:
    case, shown = block.splitlines()

    assert json.loads(answer(case)).items() >= json.loads(shown).items()


def test_the_layers_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one.get("containers") == ["scorers"]]
    section = README.partition("## Layers")[2].partition("## Decisions")[0]

    shown = [line.strip() for line in section.splitlines() if line.startswith("    ")]

    assert shown == [*contract["exhaustive_ignores"], *contract["layers"]]
    described = re.findall(
        r"`(\w+)`", "".join(line.split("|")[1] for line in section.splitlines() if line[:3] == "| `")
    )
    assert sorted(described) == sorted(" | ".join(contract["layers"]).split(" | "))


@pytest.mark.parametrize("word", [*ELEMENT_MODELS, *MATCHER_KEYS, *CONSTRAINTS_OF_ONE, *CONSTRAINTS_OF_TWO])
def test_every_keyword_of_the_language_is_explained(word: str) -> None:
    assert re.search(rf"`[^`]*\b{word}\b[^`]*`", README)
