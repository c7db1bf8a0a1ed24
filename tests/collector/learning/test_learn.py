"""Runs in, a rule file out: what it says, that it is valid, and what it refuses to say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.cli import main
from collector.learning import groups
from collector.learning.groups import Observations
from collector.learning.rule_text import rule_file
from scorers import Doubt, RuleContext, RuleSet, ToolCall, compile_rules, parse_rules
from scorers.rule_tests import run_tests
from tests import otlp_data as data
from tests.collector.learning.runs import calls, observed, run


def learnt(observations: Observations, noise: float = 0.1) -> dict[str, Any]:
    """The rule file as data, after all of its tests passed."""
    text, count = rule_file(observations, noise)
    loaded: dict[str, Any] = yaml.safe_load(text) or {"rules": []}
    file = parse_rules(loaded)
    rules = RuleSet(compile_rules(file))
    assert [result.text for result in run_tests(file, rules) if not result.passed] == []
    assert count == len(file.rules)
    return loaded


def the_rule(observations: Observations) -> dict[str, Any]:
    (rule,) = learnt(observations)["rules"]
    return rule  # type: ignore[no-any-return]


def test_each_route_and_agent_gets_a_rule_of_its_own() -> None:
    refunds = [run(calls("lookup", "refund"), route="/refund") for _ in range(20)]
    others = [run(calls("search"), route="/search") for _ in range(20)]
    nowhere = [run(calls("search", "tell"), agent="travel*") for _ in range(20)]
    found = learnt(observed([*refunds, *others, *nowhere]))["rules"]
    assert [rule["match"] for rule in found] == [
        {"route": "/refund", "agent": "shop"},
        {"route": "/search", "agent": "shop"},
        {"agent": {"regex": "^travel\\*$"}},
    ]
    assert [rule["expect"] for rule in found] == [
        {"sequence": ["lookup", "refund"]},
        {"tool": "search"},
        {"sequence": ["search", "tell"]},
    ]


def test_arguments_are_constrained_by_what_nearly_all_calls_have() -> None:
    rows = [
        {
            "id": f"ord_{1000 + n}",
            "unit": "EUR",
            "mode": ["fast", "slow", "night"][n % 3],
            "amount": 5 + n * 0.5,
            "note": "x " * n,
        }
        for n in range(100)
    ]
    rows[7] |= {"unit": "USD", "mode": "??", "amount": 1e9, "id": "nothing"}
    expected = the_rule(observed([run(calls(("pay", row))) for row in rows]))["expect"]["arguments"]
    assert expected["id"] == {"regex": "^ord_[0-9]{4}$"}
    assert expected["unit"] == "EUR"
    assert expected["mode"] == {"one_of": ["fast", "night", "slow"]}
    assert 3 <= expected["amount"]["min"] <= 5
    assert 54.5 <= expected["amount"]["max"] <= 57
    assert expected["note"] == {"present": True}


def test_the_share_of_matching_runs_is_that_of_the_whole_rule() -> None:
    names = [f"a{number}" for number in range(6)]
    rows = [{name: "y" if run_ % 25 == 4 * at else "x" for at, name in enumerate(names)} for run_ in range(100)]
    observations = observed([run(calls(("lookup", row))) for row in rows])
    assert the_rule(observations)["expect"]["arguments"] == dict.fromkeys(names, "x")
    assert "76 of 100 runs match (76.0%, 95 % interval 66.8% to 83.3%)" in rule_file(observations, 0.1)[0]


def test_of_many_runs_a_sample_is_tried() -> None:
    made = [
        run(calls(("pay", {"unit": "EUR" if n % 20 else "USD", "items": [n], "note": "x" * 9_999}))) for n in range(900)
    ]
    text, _ = rule_file(observed(made), 0.1)
    (matching,) = re.findall(r"(\d+) of a sample of 200 of the 900 runs match", text)
    assert 180 <= int(matching) < 200
    assert rule_file(observed(made), 0.1)[0] == text


def test_a_masked_value_tells_only_that_the_argument_is_there() -> None:
    rows = [{"card": f"****{1000 + n}", "unit": "EUR" if n % 3 else "[REDACTED]"} for n in range(60)]
    observations = observed([run(calls(("charge", row), "mail")) for row in rows])
    found = learnt(observations)
    (rule,) = found["rules"]
    assert rule["expect"]["sequence"][0]["arguments"] == {"card": {"present": True}, "unit": "EUR"}
    assert "40 of a sample of 40 of the 60 runs match" in rule_file(observations, 0.1)[0]
    assert "tests" not in found  # the first run, kept as the example, is masked


def test_an_argument_that_repeats_an_earlier_one_is_told_in_a_comment() -> None:
    runs = [run(calls(("lookup", {"id": f"ord_{n}x{n}"}), ("pay", {"order": f"ord_{n}x{n}"}))) for n in range(30)]
    assert "pay.order repeats lookup.id in 30 of 30 calls" in rule_file(observed(runs), 0.1)[0]


def test_retries_are_one_call_where_they_are_usual() -> None:
    failed = [ToolCall("pay", status="error"), ToolCall("pay", step=1)]
    runs = [run(failed if n % 3 else calls("pay")) for n in range(30)]
    assert the_rule(observed(runs))["expect"] == {"tool": "pay", "retries": "collapse"}


def test_support_small_samples_variants_and_unseen_tools_are_told() -> None:
    shop = [run(calls("a", "b") if n else calls("a", "x")) for n in range(20)]
    other = [run(calls("delete"), agent="admin") for _ in range(20)]
    text, _ = rule_file(observed([*shop, *other]), 0.1)
    assert "19 of 20 runs match (95.0%, 95 % interval 76.4% to 99.1%)" in text
    assert "A small sample" in text
    assert "    19  a, b" in text
    assert 'In fewer than 3 runs: "x"' in text
    assert 'forbid: ["delete"]' in text
    assert all("forbid" not in rule["expect"] for rule in yaml.safe_load(text)["rules"])


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([run(calls("a"))] * 9, "too few runs: 9; at least 10"),
        ([run([])] * 20, "no tool is called often enough"),
        ([run(calls("a"), "shop", None, Doubt("missing_span"))] * 20, "20 runs incomplete"),
        ([run(calls(*"a" * 201))] * 20, "20 runs of more than 200 calls"),
    ],
)
def test_what_teaches_nothing_is_refused_with_the_reason(runs: Any, why: str) -> None:
    text, count = rule_file(observed(runs), 0.1)
    assert count == 0
    assert why in text
    assert yaml.safe_load(text) is None


def test_runs_without_any_name_get_a_rule_only_where_there_are_no_others() -> None:
    nameless = [run(calls("a"), agent=None)] * 20
    assert the_rule(observed(nameless))["match"] == {}
    assert the_rule(observed([*nameless, *[run(calls("b"))] * 20]))["match"] == {"agent": "shop"}


def test_a_rule_says_which_runs_it_judges_without_being_learnt_from_them() -> None:
    usual, refunds = [run(calls("a", "b"))] * 30, [run(calls("b"), route="/refund")] * 20
    elsewhere = [run(calls("b"), agent="travel"), run(calls("b"), agent="travel", route="/1")]
    rare = [run(calls("x"), route=f"/{number}") for number in (1, 2, 2)]
    text, _ = rule_file(observed([*usual, *refunds, *elsewhere, *rare]), 0.1)
    assert text.count("Also judges") == 1
    assert "# Also judges 3 runs without a rule of their own, from which it was not learnt: " in text
    assert " learnt: route /1, agent shop (1); route /2, agent shop (2)\n" in text
    assert text.index('name: "/refund / shop"') < text.index("Also judges") < text.index('name: "shop"')
    many = [run(calls("x"), route=f"/{number}") for number in range(50)]
    assert "; and 38 more kinds\n" in rule_file(observed([*usual, *many]), 0.1)[0]


def test_runs_without_a_rule_are_judged_by_the_first_that_matches_them() -> None:
    of_route, of_agent = [run(calls("a"), agent=None, route="/1")] * 20, [run(calls("b"))] * 20
    text, count = rule_file(observed([*of_route, *of_agent, run(calls("x"), route="/1")]), 0.1)
    assert count == 2
    first = RuleSet(compile_rules(parse_rules(yaml.safe_load(text)))).select(RuleContext("/1", None, "shop"))
    assert first is not None
    (telling,) = [part for part in text.split("\n\n") if "Also judges 1 run " in part]
    assert f'name: "{first.rule.name}"' in telling


def test_memory_does_not_grow_with_what_is_seen() -> None:
    observations = Observations()
    for number in range(groups.MAX_GROUPS + 5):
        observations.add(run(calls("a"), agent=str(number)))
    assert len(observations.groups) == groups.MAX_GROUPS
    assert observations.left_out == {f"of more than {groups.MAX_GROUPS} kinds": 5}
    group = groups.Group()
    for number in range(groups.MAX_VARIANTS + 5):
        group.add(calls((str(number), {f"{number}.{n}": number for n in range(3)})))
    assert (len(group.examples), group.unlike) == (groups.MAX_VARIANTS, 5)
    assert len(group.arguments) <= 200


HOSTILE = [
    "a*b[",
    'x: "y" #',
    "line\nbreak\x1b[2J\x7f",
    "\U000e0041\U0001f600",
    "- {",
    "null",
    "\\ud83d",
    "a" * 300,
    "助手",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
tool_calls = st.builds(
    ToolCall,
    st.sampled_from(["a", "b", *HOSTILE[:4]]),
    st.none() | st.dictionaries(st.sampled_from(["k", *HOSTILE[:3]]), values, max_size=2),
    status=st.sampled_from(["ok", "error"]),
    executed=st.booleans(),
)
some_runs = st.lists(
    st.builds(
        lambda made, steps, agent: run(
            [replace(call, step=step) for call, step in zip(made, sorted(steps), strict=False)], agent
        ),
        st.lists(tool_calls, max_size=6), st.lists(st.integers(0, 5), min_size=6, max_size=6), st.sampled_from(HOSTILE[:3]),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(some_runs, st.integers(10, 25), st.sampled_from([0.0, 0.1, 0.4]))
def test_whatever_is_seen_the_rules_are_valid_and_their_tests_pass(runs: Any, times: int, noise: float) -> None:
    learnt(observed([one for one in runs for _ in range(times)]), noise)


@settings(max_examples=30, deadline=None)
@given(st.permutations([calls("a", "b")] * 9 + [calls("b", "a")] * 9 + [calls("a")] * 6 + [calls("x", "a")]))
def test_the_order_in_which_runs_are_seen_makes_no_difference(order: Any) -> None:
    expected = the_rule(observed(map(run, order)))["expect"]
    assert expected == {"any_order": ["a", {"optional": "b"}]}


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for number in range(1, 31):
        trace = bytes([number]) * 16
        extra = [data.tool(4, 1, "notify", 0.3, trace)] if number % 3 == 0 else []
        spans = [data.tool(2, 1, "lookup", 0.1, trace), data.tool(3, 1, "refund", 0.2, trace), *extra]
        request = data.traces(*spans, data.agent(1, name="shop", trace_id=trace))
        (folder / f"{number}.pb").write_bytes(request.SerializeToString())
    return folder


def test_the_command_writes_a_file_that_check_accepts_and_the_runs_pass(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "learnt.yaml"
    assert main(["learn", "-o", str(rules), str(traces)]) == 0
    assert f"rightcall check {rules}" in capsys.readouterr().out
    assert main(["check", str(rules)]) == 0
    assert "1 rule, 2 of 2 tests pass" in capsys.readouterr().out
    assert main(["score", "--rules", str(rules), "--format", "jsonl", str(traces)]) == 0
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    assert {row["evaluations"][0]["label"] for row in rows} == {"pass"}


def test_without_a_file_the_rules_are_printed(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(traces)]) == 0
    (rule,) = yaml.safe_load(capsys.readouterr().out)["rules"]
    assert rule["expect"] == {"sequence": ["lookup", "refund", {"optional": "notify"}]}


def test_nothing_learnt_is_code_1_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = data.traces(data.tool(2, 1, "lookup", 0.1), data.agent(1))
    (tmp_path / "one.pb").write_bytes(request.SerializeToString())
    assert main(["learn", "-o", str(tmp_path / "new.yaml"), str(tmp_path / "one.pb")]) == 1
    assert "too few" in capsys.readouterr().err
    assert not (tmp_path / "new.yaml").exists()


def test_a_file_is_never_overwritten(traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    assert main(["learn", "-o", str(tmp_path / "mine.yaml"), str(traces)]) == 2
    assert "is already there" in capsys.readouterr().err
    assert (tmp_path / "mine.yaml").read_text() == "mine"


@pytest.mark.parametrize("noise", ["-0.1", "0.5", "nan", "x"])
def test_noise_that_means_nothing_is_wrong_usage(noise: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["learn", "--noise", noise, "traces"])
    assert caught.value.code == 2
