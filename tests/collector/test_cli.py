"""The command as a user types it: output and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import jsonschema
import pytest
import yaml

from collector import commands
from collector.cli import main
from collector.config.yaml_documents import MAX_BYTES
from tests import otlp_data as data

RULES = """
rules:
  - name: weather
    expect: {sequence: [get_weather, send_email]}
tests:
  - {name: fine, rule: weather, calls: [get_weather, send_email], passes: true}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    good = data.traces(data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2), data.agent(1))
    (tmp_path / "good.pb").write_bytes(good.SerializeToString())
    bad = data.traces(data.tool(2, 1, "get_weather", trace_id=b"x" * 16), data.agent(1, trace_id=b"x" * 16))
    (tmp_path / "bad.pb").write_bytes(bad.SerializeToString())
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_score_without_rules_only_reconstructs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--format", "jsonl", str(folder / "good.pb")]) == 0
    (row,) = rows(capsys)
    assert (row["agent"], row["rule"], row["evaluations"], row["release"]) == ("helper", None, [], "end_of_input")


def test_score_warns_of_rules_that_are_never_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.yaml").write_text("rules: [{name: all, match: {}}, {name: dead, match: {agent: helper}}]")
    assert main(["score", "--rules", str(folder / "rules.yaml"), str(folder)]) == 0
    assert "rule dead is never used" in capsys.readouterr().err


def test_score_with_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--rules", str(folder / "rules.yaml"), "--format", "jsonl", str(folder)]) == 0
    found = [row["evaluations"][0]["value"] for row in rows(capsys)]  # type: ignore[index]
    assert sorted(found) == [pytest.approx(2 / 3), 1.0]


@pytest.mark.parametrize(("bar", "code"), [("0.8", 0), ("0.84", 1)])
def test_the_bar(folder: Path, capsys: pytest.CaptureFixture[str], bar: str, code: int) -> None:
    assert main(["score", "--rules", str(folder / "rules.yaml"), "--fail-under", bar, str(folder)]) == code
    assert ("is under" in capsys.readouterr().err) == bool(code)


def test_nothing_scored_is_under_any_bar(folder: Path) -> None:
    assert main(["score", "--fail-under", "0", str(folder / "good.pb")]) == 1


def forbidding(folder: Path) -> list[str]:
    """Twenty runs, one of which calls what the rule forbids."""
    (folder / "rules.yaml").write_text(
        'rules: [{name: orders, match: {}, expect: {sequence: [search], allow_extra: ["*"], forbid: ["delete_*"]}}]'
    )
    (folder / "runs").mkdir()
    for number in range(1, 21):
        trace = bytes([number]) * 16
        more = [data.tool(3, 1, "delete_order", at=0.2, trace_id=trace)] if number == 7 else []
        spans = [data.tool(2, 1, "search", at=0.1, trace_id=trace), *more, data.agent(1, trace_id=trace)]
        (folder / "runs" / f"{number}.pb").write_bytes(data.traces(*spans).SerializeToString())
    return ["score", "--rules", str(folder / "rules.yaml"), str(folder / "runs")]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ([], 1, "not met: 1 run with a forbidden call (--fail-on forbidden)"),
        (["--fail-under", "0.9"], 1, "--fail-on forbidden"),
        (["--fail-on", "none"], 0, ""),
        (["--fail-on", "error,no_rule"], 0, ""),
        (["--fail-on", "none", "--min-accuracy", "0.96"], 1, "accuracy 0.950 is under 0.96"),
        (["--fail-on", "none", "--min-accuracy", "0.95", "--min-runs", "20"], 0, ""),
        (["--fail-on", "none", "--min-runs", "21"], 1, "20 of 20 runs decided (pass or fail), at least 21 needed"),
    ],
)
def test_the_gate(folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, told: str) -> None:
    assert main([*forbidding(folder), *options]) == code
    said = capsys.readouterr()
    assert told in said.err
    assert bool(said.err) == bool(code)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--fail-on", "fial"], "unknown kind fial"),
        (["--fail-on", ""], "nothing is named; known are fail, "),
        (["--fail-on", " ,"], "nothing is named; known are fail, "),
        (["--min-accuracy", "90"], "90 is not a share from 0 to 1"),
        (["--min-accuracy", "90%"], "90% is not a share from 0 to 1"),
        (["--fail-under", "-1"], "-1 is not a share from 0 to 1"),
        (["--min-runs", "-1"], "-1 is not a whole number, 0 or more"),
        (["--min-runs", "x"], "x is not a whole number, 0 or more"),
        (["--jobs", "x"], "x is not a whole number, 0 or more"),
        (["--jobs", "65"], "65 is not a number from 1 to 64"),
    ],
)
def test_conditions_that_cannot_be_met_or_mean_nothing_are_wrong_usage(
    capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["score", *options, "x"])
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_demo_that_would_never_end_is_wrong_usage(capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--seconds", seconds])
    assert caught.value.code == 2
    assert f"{seconds} is not a number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "junit", "markdown"])
def test_other_formats(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["score", "--rules", str(folder / "rules.yaml"), "--format", form, str(folder)]) == 0
    assert "weather" in capsys.readouterr().out


def test_unreadable_input_is_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "noise.pb").write_bytes(b"\xff" * 10)
    assert main(["score", str(folder / "noise.pb")]) == 2
    assert "noise.pb: the body is not an OTLP protobuf request" in capsys.readouterr().err
    assert main(["score", str(folder / "none")]) == 2


@pytest.mark.parametrize("command", ["score", "rescore", "explain", "init", "check", "diff", "learn"])
def test_the_examples_of_the_help_work(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("rules", "old", "traces"):
        (folder / name).mkdir()
    shutil.copy(folder / "rules.yaml", folder / "old" / "rules.yaml")
    (folder / "rules.yaml").rename(folder / "rules" / "rules.yaml")
    (folder / "good.pb").rename(folder / "traces" / "good.pb")
    for number in range(1, 12):  # enough to learn from
        trace = bytes([number]) * 16
        spans = data.tool(2, 1, "get_weather", at=0.1, trace_id=trace), data.tool(3, 1, "send_email", 0.2, trace)
        request = data.traces(*spans, data.agent(1, trace_id=trace))
        (folder / "traces" / f"{number}.pb").write_bytes(request.SerializeToString())
    (folder / "collector.yaml").write_text("rules: [rules/]\n")
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main([command, "--help"])
    examples = capsys.readouterr().out.partition("examples:\n")[2].splitlines()
    assert examples
    for example in examples:
        words = shlex.split(example.replace("TRACE_ID", data.TRACE.hex()))
        assert words[:2] == ["rightcall", command]
        if "--collector" not in words:  # tests/console/test_api.py has one that runs
            assert main(words[1:]) == 0


@pytest.mark.parametrize(
    ("words", "instead"), [("explain 9484", "--collector URL TRACE_ID"), ("compare 1 2", "--prometheus URL A B")]
)
def test_where_paths_are_missing_the_usage_says_what_may_stand_in_their_place(
    capsys: pytest.CaptureFixture[str], words: str, instead: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"{instead}\n" in said
    assert "the following arguments are required: PATH" in said


def test_wrong_usage_is_code_2() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["score", "--format", "xml", "x"])
    assert caught.value.code == 2


def test_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(folder / "rules.yaml")]) == 0
    assert "1 rule, 1 of 1 tests pass" in capsys.readouterr().out
    (folder / "rules.yaml").write_text(RULES.replace("passes: true", "passes: false"))
    assert main(["check", str(folder / "rules.yaml")]) == 1
    (folder / "rules.yaml").write_text(RULES.replace("expect:", "expct:"))
    assert main(["check", str(folder / "rules.yaml")]) == 1
    assert "rules.yaml:4" in capsys.readouterr().err


def test_check_is_not_green_where_there_is_nothing_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    assert main(["check", str(tmp_path)]) == 2
    assert "no rule file (.yaml or .yml) in it or below" in capsys.readouterr().err
    assert main(["check"]) == 2  # an empty variable in the script of a build
    assert "name rule files or folders, or a configuration with --config" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["score --rules RULES TRACES", "explain --rules RULES 01 TRACES", "diff RULES RULES TRACES", "check RULES"],
)
@pytest.mark.parametrize(
    ("rules", "told"), [("empty", "empty: no rule file"), ("nope", "nope: no such rule file or folder\n")]
)
def test_rules_that_are_not_there_are_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, rules: str, told: str
) -> None:
    (folder / "empty").mkdir()
    words = command.replace("RULES", str(folder / rules)).replace("TRACES", str(folder / "good.pb")).split()
    assert main(words) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("named", ["", "large.yaml"])
def test_check_is_code_2_where_a_rule_file_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    (folder / "rules").mkdir()
    (folder / "rules/wrong.yaml").write_text(RULES.replace("expect:", "expct:"))
    (folder / "rules/large.yaml").write_text("#" * (MAX_BYTES + 1))
    assert main(["check", str(folder / "rules" / named)]) == 2
    told = capsys.readouterr().err
    assert "large.yaml: cannot be read: larger than 4 MiB" in told
    assert ("wrong.yaml:4: rule" in told) is not bool(named)


@pytest.mark.parametrize("name", [module.name for module in iter_modules(commands.__path__)])
def test_the_help_of_each_command_says_what_it_does_and_shows_how(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = "".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main([name, "--help"])
    _, summary, *_, examples = capsys.readouterr().out.split("\n\n")
    assert f"{name}{''.join(summary.partition(';')[0].split())}" in listed
    assert examples.startswith(f"examples:\n  rightcall {name}")


def test_a_configuration_that_is_not_there_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "run"):
        assert main([command, "--config", str(tmp_path / "nope.yaml")]) == 2
        assert "nope.yaml: cannot be read: No such file or directory" in capsys.readouterr().err


def test_check_lists_the_scorers_and_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--systems"]) == 0
    said = capsys.readouterr().out
    assert "evalite  evalite@" in said
    assert "    value: text, list or mapping (required)" in said  # of promptfoo, which takes no number


def test_check_a_configuration_and_the_rules_it_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "collector.yaml").write_text("rules: [rules.yaml]\n")
    assert main(["check", "--config", str(folder / "collector.yaml")]) == 0
    (folder / "collector.yaml").write_text("ruls: [rules.yaml]\n")
    assert main(["check", "--config", str(folder / "collector.yaml")]) == 1
    assert "did you mean rules?" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["rules", "config"])
def test_schemas_are_json_schemas_that_take_what_we_take(
    folder: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    assert main(["schema", what]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    example = RULES if what == "rules" else "traces: {settle: 2s}\nexporters: {otlp: {endpoint: x:1}}\n"
    jsonschema.validate(yaml.safe_load(example), schema)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("traces: {max_open: '${env:MAX_OPEN:-1000}'}", True),
        ("console: {enabled: '${env:CONSOLE}'}", True),
        ("service: {telemetry: {logs: {level: '${env:LEVEL}'}}}", True),
        ("traces: {max_open: many}", False),
        ("service: {telemetry: {logs: {level: loud}}}", False),
    ],
)
def test_the_schema_of_the_configuration_takes_variables_of_the_environment(
    capsys: pytest.CaptureFixture[str], text: str, is_valid: bool
) -> None:
    assert main(["schema", "config"]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    assert validator.is_valid(yaml.safe_load(text)) == is_valid


def test_run_with_a_wrong_configuration_is_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "collector.yaml").write_text("traces: {settle: soon}\n")
    assert main(["run", "--config", str(folder / "collector.yaml")]) == 2
    assert "is not a duration" in capsys.readouterr().err


JUDGED = """
rules:
  - name: weather
    match: {agent: helper}
    expect: {sequence: [get_weather, send_email]}
    scorers: [trajectory, {system: tool_choice, name: meaning, rubric: Mail what was asked for.}]
  - name: unused
    match: {agent: nobody}
    scorers: [mastra_llm]
tests:
  - {name: fine, rule: weather, calls: [get_weather, send_email], passes: true}
"""


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_score_asks_no_model_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (folder / "rules.yaml").write_text(JUDGED)
    assert main(["score", "--rules", str(folder / "rules.yaml"), "--format", form, str(folder)]) == 0
    told = capsys.readouterr()
    assert told.err == "skipped: meaning of rule weather needs a judge, which only `rightcall run` has\n"
    assert "meaning" not in told.out


def test_check_reports_that_scorers_with_a_judge_are_not_tested(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rules.yaml").write_text(JUDGED)
    assert main(["check", str(folder / "rules.yaml")]) == 0
    told = capsys.readouterr().out
    assert "1 of 1 tests pass" in told
    assert "meaning of rule weather needs a judge, which only `rightcall run` has: not tested" in told
    assert "mastra_llm of rule unused needs a judge" in told


def test_check_validates_the_options_of_a_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.yaml").write_text(JUDGED.replace("rubric:", "rubrik:"))
    assert main(["check", str(folder / "rules.yaml")]) == 1
    assert "rules.yaml:6: rule weather: scorers.1: tool_choice has no option 'rubrik'" in capsys.readouterr().err


NAMES = """
rules:
  - name: "a\\e[2J"
    expect: {sequence: ["\\u202eb"]}
tests:
  - {name: "\\e]0;x", rule: "a\\e[2J", calls: ["\\x9bc"], passes: true}
"""


@pytest.mark.parametrize(
    "rules", [NAMES, NAMES.replace("a\\e", "a\\u202e"), 'rules: [{name: "\\e[2J"}, {"\\e]": 1}]', 'rules: ["\\ud800"]']
)
def test_check_prints_nothing_that_a_terminal_obeys(
    folder: Path, capsys: pytest.CaptureFixture[str], rules: str
) -> None:
    (folder / "rules.yaml").write_text(rules)
    assert main(["check", str(folder / "rules.yaml")]) == 1
    told = capsys.readouterr()
    assert all(line.isprintable() for line in (told.out + told.err).split("\n"))
    assert "rules.yaml" in told.out + told.err


def test_a_path_in_no_encoding_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / os.fsdecode(b"r\xff\x1b.yaml")
    path.write_text(RULES)
    assert main(["check", str(path)]) == 0
    assert main(["score", "--rules", str(path), str(folder / os.fsdecode(b"t\xff\x1b.pb"))]) == 2
    told = capsys.readouterr()
    assert r"r\udcff\x1b.yaml: 1 rule, 1 of 1 tests pass" in told.out
    assert r"t\udcff\x1b.pb: no such file" in told.err


@pytest.mark.parametrize("form", ["table", "junit"])
def test_reports_are_utf8_whatever_the_locale(folder: Path, form: str) -> None:
    request = data.traces(data.tool(2, 1, "søk"), data.agent(1, name="助手"))
    (folder / "other.pb").write_bytes(request.SerializeToString())
    told = subprocess.run(
        [sys.executable, "-m", "collector", "score", "--rules", folder / "rules.yaml", "--format", form, folder / "other.pb"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "COLUMNS": "200"},
        capture_output=True, check=True,
    )  # fmt: skip
    assert "助手" in told.stdout.decode()


def printing(folder: Path) -> dict[str, list[str]]:
    """A call of each command that prints what it finds; most of them find something wrong."""
    rules, recording = str(folder / "rules.yaml"), str(folder / "bad.pb")
    (folder / "other.yaml").write_text(RULES.replace("send_email", "call").replace("true", "false"))
    return {
        "score": ["score", "--rules", rules, "--min-accuracy", "0.9", recording],
        "diff": ["diff", rules, str(folder / "other.yaml"), str(folder / "good.pb")],
        "check": ["check", str(folder / "other.yaml")],
        "compare": ["compare", "--rules", rules, "1", "2", recording],
        "explain": ["explain", "--rules", rules, (b"x" * 16).hex(), recording],
        "init": ["init", str(folder / "first")],
        "schema": ["schema", "rules"],
    }


def redirected(arguments: list[str], redirection: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command as a shell starts it."""
    command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "collector", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("stream", "name", "code"),
    [
        ("stdout", "score", 1), ("stdout", "diff", 1), ("stdout", "check", 1), ("stdout", "compare", 3),
        ("stdout", "schema", 0), ("stderr", "score", 1),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_same_when_the_reader_is_gone(folder: Path, stream: str, name: str, code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "collector", *printing(folder)[name]]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writer}
    ended = subprocess.run(command, text=True, check=False, **streams)  # type: ignore[call-overload]
    os.close(writer)
    assert ended.returncode == code, ended.stderr
    if stream == "stdout":
        assert ("not met: accuracy 0.000 is under 0.9" in ended.stderr) == (name == "score")
        assert "Error" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    ("name", "unbuffered"),
    [("score", ""), ("score", "1"), ("diff", ""), ("check", "1"), ("compare", "1"), ("explain", ""), ("schema", "1")],
)  # fmt: skip
def test_output_that_cannot_be_written_is_code_2(folder: Path, name: str, unbuffered: str) -> None:
    ended = redirected(printing(folder)[name], ">/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert ended.stderr.endswith("standard output: cannot be written: No space left on device\n")
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)


@pytest.mark.parametrize("name", ["score", "check"])
def test_output_that_is_closed_is_code_2(folder: Path, name: str) -> None:
    ended = redirected(printing(folder)[name], ">&-")
    assert (ended.returncode, ended.stderr) == (2, "standard output: cannot be written: it is closed\n")


def test_where_errors_cannot_be_told_the_report_stays_what_it_is(folder: Path) -> None:
    ended = redirected(printing(folder)["score"], "2>&-")
    assert (ended.returncode, "not met" in ended.stdout) == (1, False)


def test_score_says_what_was_not_read(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = data.span(2, 1, "tool:pay", acme__payload="x", toolArgs='{"order": 7}')
    unread = data.span(3, 1, "step", gen_ai__system="x")
    request = data.traces(data.span(1), shown, unread, scope="acme").SerializeToString()
    path = tmp_path / "run.pb"
    path.write_bytes(request)

    assert main(["score", "--verbose", "--format", "jsonl", str(path)]) == 0
    output = capsys.readouterr()
    assert output.err.splitlines() == ["spans read by their shape: 1 of scope acme", "spans not read: 1 of scope acme"]
    assert len(output.out.splitlines()) == 1

    main(["score", "--verbose", str(folder / "good.pb")])
    assert capsys.readouterr().err.startswith("every span that looks like an agent's was read")

    path.write_bytes(data.traces(data.span(1, 0, "Agent.run"), data.span(2, 1, "BaseTool.run")).SerializeToString())
    main(["score", "--verbose", str(path)])
    assert capsys.readouterr().err.startswith("no span has the attributes of an agent, a model or a tool")
