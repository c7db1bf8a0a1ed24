"""Agent runs in somebody's test suite: recorded in the process, asserted by rules, counted by the pytest plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

from collector.errors import ConfigError
from collector.testing import take_asserted
from scorers.testing import assert_run, read_runs, record_runs
from tests import otlp_data as data

pytest_plugins = ["pytester"]
RULES = """
rules:
  - name: orders
    match: {agent: shop-*}
    expect: {sequence: [{tool: lookup, arguments: {id: {regex: "^ord_"}}}, refund], forbid: ["delete_*"]}
"""
AGENT = '''
from opentelemetry import trace

def run(*tools, agent="shop-helper", provider=None, **more):
    tracer = (provider or trace).get_tracer("agent")
    start = tracer.start_as_current_span
    with start("invoke", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent, **more}):
        for name, arguments in tools:
            said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments}
            with tracer.start_as_current_span("tool", attributes=said):
                pass
'''  # fmt: skip
AGENT_ATTRIBUTES = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop-helper"}
TOOL_ATTRIBUTES = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"}
scope: dict[str, object] = {}
exec(AGENT, scope)
run_agent = scope["run"]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider
    provider.shutdown()
    take_asserted()


LOOKUP, REFUND = ("lookup", '{"id": "ord_7"}'), ("refund", "{}")


def record(provider: TracerProvider, *tools: tuple[str, str], agent: str = "shop-helper") -> list[list[str]]:
    with record_runs(provider) as runs:
        run_agent(*tools, agent=agent, provider=provider)  # type: ignore[operator]
    return [[call.name for call in run.trajectory.calls] for run in runs]


def test_runs_are_there_while_they_are_recorded_and_only_those_of_the_block(provider: TracerProvider) -> None:
    record(provider, LOOKUP)
    with record_runs(provider) as runs:
        assert list(runs) == []
        run_agent(LOOKUP, REFUND, provider=provider)  # type: ignore[operator]
        assert [call.arguments for call in runs[0].trajectory.calls] == [{"id": "ord_7"}, {}]
        run_agent(LOOKUP, provider=provider)  # type: ignore[operator]
        assert len(runs) == 2
    run_agent(LOOKUP, provider=provider)  # type: ignore[operator]
    assert len(runs) == 2


def test_a_run_that_is_not_there_is_said_with_what_was_recorded(provider: TracerProvider) -> None:
    with record_runs(provider) as runs:
        run_agent(LOOKUP, provider=TracerProvider())  # type: ignore[operator]
        with pytest.raises(IndexError, match=r"0 spans ended, with 0 agent runs; .* the tracer provider"):
            runs[0]
        run_agent(LOOKUP, provider=provider)  # type: ignore[operator]
        assert runs[-1] is runs[0]
        for index in (1, -2):
            with pytest.raises(IndexError, match=f"no run {index}: [1-9] spans ended, with 1 agent run$"):
                runs[index]
        assert runs[5:] == []


def test_recordings_may_be_nested(provider: TracerProvider) -> None:
    with record_runs(provider) as outer:
        run_agent(LOOKUP, provider=provider)  # type: ignore[operator]
        assert record(provider, REFUND) == [["refund"]]
    assert len(outer) == 2


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switching")
def test_recordings_begin_and_end_on_any_thread(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("agent")

    def record_often(_: int) -> list[int]:
        counts = []
        for _ in range(1_000):
            with record_runs(provider) as runs:
                tracer.start_span("step").end()
            counts.append(len(runs._recording.spans))
        return counts

    with ThreadPoolExecutor(8) as pool:
        assert all(all(counts) for counts in pool.map(record_often, range(8)))


def test_runs_are_in_order_of_start(provider: TracerProvider) -> None:
    with record_runs(provider) as runs:
        said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "first"}
        first = provider.get_tracer("agent").start_span("invoke", attributes=said, start_time=1_000)
        run_agent(LOOKUP, agent="second", provider=provider)  # type: ignore[operator]
        first.end()
    assert [run.agent for run in runs] == ["first", "second"]


def test_a_run_is_in_doubt_while_a_span_below_it_goes_on(provider: TracerProvider, rules: Path) -> None:
    tracer = provider.get_tracer("agent")
    with record_runs(provider) as runs, tracer.start_as_current_span("session"):
        run_agent(LOOKUP, REFUND, provider=provider)  # type: ignore[operator]
        with tracer.start_as_current_span("invoke", attributes=AGENT_ATTRIBUTES):
            calls = [tracer.start_span("tool", attributes=TOOL_ATTRIBUTES) for _ in range(2)]
            calls[0].end()
        assert_run(runs[0], rules=rules)
        with pytest.raises(AssertionError, match=r"incomplete by rule orders: .* spans of it had begun and not ended"):
            assert_run(runs[1], rules=rules)
        calls[1].end()
        with pytest.raises(AssertionError, match="fail by rule orders"):
            assert_run(runs[1], rules=rules)


def test_a_run_that_its_rule_passes(provider: TracerProvider, rules: Path) -> None:
    with record_runs(provider) as runs:
        run_agent(LOOKUP, REFUND, provider=provider)  # type: ignore[operator]
    assert_run(runs[0], rules=rules)
    assert take_asserted() == [("pass", "orders", "")]


def test_a_fail_shows_expected_beside_called(provider: TracerProvider, rules: Path) -> None:
    with record_runs(provider) as runs:
        run_agent(("lookup", '{"id": "7"}'), ("delete_order", "{}"), provider=provider)  # type: ignore[operator]
    with pytest.raises(AssertionError) as caught:
        assert_run(runs[0], rules=rules / "rules.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("fail by rule orders: score 0.000 = 1 - 4/(2 + 2)")
    assert 'lookup.id: "7" does not match ^ord_' in lines[2]
    assert [line.split()[0] for line in lines[2:]] == ["~", "-", "!"] or [line.split()[0] for line in lines[2:]] == [
        "~",
        "!",
        "-",
    ]


def test_a_run_that_no_rule_matches_is_no_pass_and_says_why(provider: TracerProvider, rules: Path) -> None:
    with record_runs(provider) as runs:
        run_agent(LOOKUP, agent="travel", provider=provider)  # type: ignore[operator]
    with pytest.raises(AssertionError, match=r"not scored: no_rule\n  orders: agent is travel, must be shop-\*"):
        assert_run(runs[0], rules=rules)


def test_the_summary_says_of_a_run_without_a_rule_only_that(provider: TracerProvider, rules: Path) -> None:
    with record_runs(provider) as runs:
        run_agent(agent="travel", provider=provider)  # type: ignore[operator]
    assert runs[0].trajectory.doubts  # as nothing tells what it called
    with pytest.raises(AssertionError, match="not scored: no_rule"):
        assert_run(runs[0], rules=rules)
    assert take_asserted() == [("no_rule", "", "")]


def test_the_summary_says_of_a_run_whose_rule_is_unknown_what_is_missing(
    provider: TracerProvider, tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [{name: chat, match: {route: /chat}, expect: {sequence: [lookup]}}]")
    with record_runs(provider) as runs, provider.get_tracer("app").start_as_current_span("POST /chat"):
        run_agent(LOOKUP, provider=provider)  # type: ignore[operator]
        with pytest.raises(AssertionError, match="not scored: unknown_route"):
            assert_run(runs[0], rules=tmp_path)
    (asserted,) = take_asserted()
    assert asserted.label == "unknown_route"
    assert "unknown_route" in asserted.reasons


def test_changed_rules_are_read_again_and_wrong_ones_refused(provider: TracerProvider, rules: Path) -> None:
    with record_runs(provider) as runs:
        run_agent(LOOKUP, REFUND, provider=provider)  # type: ignore[operator]
    assert_run(runs[0], rules=rules)
    (rules / "other.yaml").write_text("rules: [{nam: x}]")
    with pytest.raises(ConfigError, match="did you mean name"):
        assert_run(runs[0], rules=rules)
    (rules.parent / "empty").mkdir()
    with pytest.raises(ConfigError, match="empty: no rule file"):
        assert_run(runs[0], rules=rules.parent / "empty")


def test_a_rule_may_match_by_any_attribute(provider: TracerProvider, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("""
rules:
  - {name: gold, match: {attributes: {customer.tier: gold}}, expect: {sequence: [lookup, refund]}}
  - {name: any, match: {}, expect: {allow_extra: ["*"]}}
""")
    with record_runs(provider) as runs:
        run_agent(LOOKUP, provider=provider, **{"customer.tier": "gold"})  # type: ignore[operator]
    (tmp_path / "traces").mkdir()
    spans = data.traces(data.tool(2, 1, "lookup"), data.agent(1, customer__tier="gold"))
    (tmp_path / "traces" / "1.pb").write_bytes(spans.SerializeToString())
    for run in (runs[0], *read_runs(tmp_path / "traces")):
        with pytest.raises(AssertionError, match="fail by rule gold"):
            assert_run(run, rules=tmp_path / "rules.yaml")


def test_recordings_are_read_as_score_reads_them(tmp_path: Path) -> None:
    (tmp_path / "1.pb").write_bytes(data.traces(data.tool(2, 1, "search"), data.agent(1)).SerializeToString())
    (run,) = read_runs(tmp_path)
    assert [call.name for call in run.trajectory.calls] == ["search"]


def suite(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    """A project of its own, whose process finds the plugin by its entry point."""
    pytester.makepyfile(agent=AGENT, test_agent=tests)
    (pytester.path / "rules").mkdir()
    (pytester.path / "rules" / "rules.yaml").write_text(RULES)
    (pytester.path / "traces").mkdir()
    for number in (1, 2):
        trace = bytes([number]) * 16
        spans = [data.tool(2, 1, "lookup", at=0.1, trace_id=trace), data.agent(1, name="shop-1", trace_id=trace)]
        more = [data.tool(3, 1, "refund", at=0.2, trace_id=trace)] * (number - 1)
        (pytester.path / "traces" / f"{number}.pb").write_bytes(data.traces(*spans, *more).SerializeToString())
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_the_plugin_in_a_project(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = suite(
        pytester,
        """
        import pytest
        from agent import run
        from scorers.testing import assert_run

        def test_good(agent_runs):
            run(("lookup", '{"id": "ord_7"}'), ("refund", "{}"))
            assert_run(agent_runs[0], rules="rules/")

        def test_bad(agent_runs):
            run(("lookup", '{"id": "7"}'), ("refund", "{}"))
            assert_run(agent_runs[0], rules="rules/")

        @pytest.mark.recordings("traces")
        def test_recorded(recorded_run):
            assert_run(recorded_run, rules="rules/")
        """,
        *options,
    )
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines([
        '*lookup.id: "7" does not match ^ord_',
        "*= agent runs =*",
        "4 runs: 2 fail, 2 pass",
        "1 fail by orders: missing refund (test_agent.py::test_recorded[[]shop-1-01010101-0000[]])",
        "1 fail by orders: wrong arguments lookup.id (test_agent.py::test_bad)",
    ])  # fmt: skip


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_what_fixtures_assert_counts_for_the_test_that_uses_them(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = suite(
        pytester,
        """
        import pytest
        from agent import run
        from scorers.testing import assert_run

        @pytest.fixture
        def checked(agent_runs):
            run(("lookup", '{"id": "ord_7"}'), ("refund", "{}"))
            assert_run(agent_runs[0], rules="rules/")
            yield
            assert_run(agent_runs[1], rules="rules/")

        def test_bad(checked):
            run(("lookup", '{"id": "7"}'), ("refund", "{}"))

        def test_good(checked):
            run(("lookup", '{"id": "ord_7"}'), ("refund", "{}"))
        """,
        *options,
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines([
        "4 runs: 3 pass, 1 fail",
        "1 fail by orders: wrong arguments lookup.id (test_agent.py::test_bad)",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("none", "no agent run in *none"),
        ("empty", "*empty: contains no .pb*"),
        ("nope", "*nope: no such file or folder"),
    ],
)
def test_recordings_without_a_run_are_an_error(pytester: pytest.Pytester, folder: str, told: str) -> None:
    (pytester.path / "none").mkdir()
    (pytester.path / "empty").mkdir()
    request = data.traces(data.span(1, name="GET /")).SerializeToString()
    (pytester.path / "none" / "1.pb").write_bytes(request)
    result = suite(
        pytester,
        f"""
        import pytest

        @pytest.mark.recordings("{folder}")
        def test_recorded(recorded_run):
            pass
        """,
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*UsageError: recorded_run: {told}"])


def test_a_project_that_uses_none_of_it_sees_nothing(pytester: pytest.Pytester) -> None:
    result = suite(pytester, "import sys\ndef test_it():\n    assert 'collector.testing' not in sys.modules")
    result.assert_outcomes(passed=1)
    assert "agent runs" not in result.stdout.str()
