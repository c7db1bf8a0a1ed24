"""Rule files that change while the collector runs: what is loaded, what is refused, and that the event loop goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collector.config.model import Config
from collector.scoring.rule_files import LoadedRules
from collector.service.health import Health
from collector.service.log_config import RepeatLimit
from collector.service.rule_reload import RuleReload
from collector.service.status import facts
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from tests.harness import value
from tests.operations import calls
from tests.waiting import PATIENCE, let_others_run, until

RULES = "rules:\n  - {{name: {name}, match: {{}}, expect: {{any_order: []}}}}\n"


class Watching:
    """A ``RuleReload`` under way: ``names`` of the rules it handed over, and its metrics."""

    def __init__(self, file: Path) -> None:
        self.file, self.telemetry, self.names = file, Telemetry(), list[str]()
        file.write_text(RULES.format(name="first"))
        config = Config.model_validate({"rules": [str(file)]})
        self.rules = RuleReload(config, self.telemetry, SelfTracing())

    def use(self, rules: LoadedRules) -> None:
        self.names += [rule.rule.name for rule in rules.set.rules]

    def failures(self) -> float:
        return value(self.telemetry, "rules_reload_failures_total")

    def run(self, scenario: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            watcher = asyncio.create_task(self.rules.watch(self.use))
            await scenario()
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

        asyncio.run(run())


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    return Watching(tmp_path / "rules.yaml")


def test_rules_are_loaded_when_asked(watching: Watching, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def scenario() -> None:
        watching.file.write_text(RULES.format(name="second"))
        watching.rules.ask()
        await until(lambda: watching.names == ["second"])
        await until(lambda: "rules reloaded: 1 rule from rules.yaml" in caplog.text)

    watching.run(scenario)


def test_what_rules_forbid_is_counted_from_0_as_soon_as_they_are_in_force(watching: Watching) -> None:
    def count(rule: str) -> float | None:
        labels = {"rule": rule, "tool": "delete", "outcome": "forbidden"}
        return watching.telemetry.registry.get_sample_value("rightcall_tool_calls_total", labels)

    async def scenario() -> None:
        assert (count("first"), count("second")) == (0, None)
        watching.file.write_text(forbidding.format(name="second"))
        watching.rules.ask()
        await until(lambda: watching.names == ["second"])

    forbidding = RULES.replace("any_order: []", "forbid: [delete]")
    watching.file.write_text(forbidding.format(name="first"))
    watching.rules.load()
    watching.run(scenario)
    assert count("second") == 0


class _Failing(Watching):
    """Rules named ``bad`` meet a bug."""

    def use(self, rules: LoadedRules) -> None:
        super().use(rules)
        if self.names[-1] == "bad":
            raise RuntimeError("a bug")


def test_a_bug_does_not_end_the_watch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watching = _Failing(tmp_path / "rules.yaml")

    async def scenario() -> None:
        for name in ("bad", "good"):
            watching.file.write_text(RULES.format(name=name))
            watching.rules.ask()
            await until(lambda name=name: watching.names[-1:] == [name] and watching.failures() == 1)

    watching.run(scenario)
    assert "the new rules cannot be loaded, keeping the old ones" in caplog.text


def test_rules_stay_in_force_when_the_last_file_is_gone(watching: Watching) -> None:
    watching.rules.load()

    async def scenario() -> None:
        watching.file.unlink()
        watching.file.mkdir()
        watching.rules.ask()
        await until(lambda: watching.failures() == 1)

    watching.run(scenario)
    assert watching.names == []


def test_a_file_that_is_emptied_as_it_is_while_it_is_written_leaves_its_rules_in_force(
    watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    watching.rules.load()

    async def scenario() -> None:
        watching.file.write_text("")
        watching.rules.ask()
        await until(lambda: watching.failures() == 1)
        watching.file.write_text(RULES.format(name="second"))
        watching.rules.ask()
        await until(lambda: watching.names == ["second"])
        watching.file.write_text("rules: []")
        watching.rules.ask()
        await until(
            lambda: value(watching.telemetry, "rules_refused") == 0 and "no rules in rules.yaml, so" in caplog.text
        )

    with caplog.at_level("INFO"):
        watching.run(scenario)
    assert "rules.yaml: empty; write it, remove it, or write `rules: []`" in caplog.text
    assert watching.failures() == 1


def test_a_file_that_was_empty_before_is_not_refused(watching: Watching, caplog: pytest.LogCaptureFixture) -> None:
    watching.file.write_text("")
    watching.rules.load()

    async def scenario() -> None:
        watching.rules.ask()
        await until(lambda: "rules reloaded: no rules in rules.yaml" in caplog.text)

    with caplog.at_level("INFO"):
        watching.run(scenario)
    assert watching.failures() == 0


def test_the_objectives_in_metrics_are_those_in_force(watching: Watching) -> None:
    def objectives() -> dict[tuple[str, str], float]:
        (metric,) = [
            one for one in watching.telemetry.registry.collect() if one.name == "rightcall_rule_objective_ratio"
        ]
        return {(one.labels["rule"], one.labels["scorer"]): one.value for one in metric.samples}

    with_objective = (
        "rules: [{{name: a, match: {{}}, objective: {}, scorers: [evalite, trajectory], expect: {{sequence: [b]}}}}]"
    )

    async def scenario() -> None:
        watching.file.write_text(with_objective.format(0.9))
        watching.rules.ask()
        await until(lambda: objectives() == {("a", "evalite"): 0.9})
        watching.file.write_text(with_objective.format(0.95))
        watching.rules.ask()
        await until(lambda: objectives() == {("a", "evalite"): 0.95})
        watching.file.write_text(RULES.format(name="second"))
        watching.rules.ask()
        await until(lambda: objectives() == {})

    watching.run(scenario)


def test_many_questions_at_once_are_one(watching: Watching) -> None:
    async def scenario() -> None:
        for _ in range(1000):
            watching.rules.ask()
        await until(lambda: watching.names)
        watching.file.write_text(RULES.format(name="second"))
        watching.rules.ask()
        await until(lambda: "second" in watching.names)

    watching.run(scenario)
    assert watching.names == ["first", "second"]


def test_a_refused_file_is_told_of_until_it_is_mended(watching: Watching) -> None:
    shown = "changed rules refused, the old ones stay in force"

    def told() -> bool:
        console = any(fact.text == shown and fact.is_bad for fact in facts(Health(), watching.telemetry))
        assert console == (value(watching.telemetry, "rules_refused") == 1)
        return console

    async def scenario() -> None:
        assert not told()
        watching.file.write_text("rules: 1")
        watching.rules.ask()
        await until(told)
        watching.file.write_text(RULES.format(name="second"))
        watching.rules.ask()
        await until(lambda: not told())

    watching.run(scenario)
    assert (watching.names, watching.failures()) == (["second"], 1)


def test_a_pipe_in_the_place_of_a_rule_file_is_refused(watching: Watching) -> None:
    async def scenario() -> None:
        watching.file.unlink()
        os.mkfifo(watching.file)
        watching.rules.ask()
        await until(lambda: watching.failures() == 1)

    watching.run(scenario)
    assert watching.names == []


def test_files_are_read_off_the_event_loop(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    open_file = os.open

    async def scenario() -> None:
        loop = asyncio.get_running_loop()

        def open_and_wait_for_the_loop(path: str, flags: int) -> int:
            asyncio.run_coroutine_threadsafe(let_others_run(), loop).result(PATIENCE)
            return open_file(path, flags)

        monkeypatch.setattr(os, "open", open_and_wait_for_the_loop)
        watching.rules.ask()
        await until(lambda: watching.names == ["first"])

    watching.run(scenario)


def test_the_event_loop_does_the_same_for_few_rules_as_for_many(watching: Watching) -> None:
    def reload(count: int) -> int:
        rule = "  - {{name: r{0}, match: {{attributes: {{a{0}: x}}}}, objective: 0.9, expect: {{any_order: []}}}}"
        watching.file.write_text("\n".join(["rules:", *(rule.format(at) for at in range(count))]))
        watching.rules.load()
        watching.file.write_text(watching.file.read_text().replace("0.9", "0.8"))

        used: list[LoadedRules] = []
        made = calls(lambda: asyncio.run(watching.rules._reload(used.append)))  # of this thread alone
        assert len(used[0].set.attributes) == count
        return made + calls(used[0].set.has_judges)

    assert reload(200) < reload(5) + 1_000  # which vary, with what asyncio waits for


def test_every_rule_that_is_hardly_meant_is_told_of_up_to_a_number(
    watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(limit := RepeatLimit())
    for count in (9, 60):
        caplog.clear()
        watching.file.write_text("rules:\n" + "".join(f"  - {{name: r{at}, match: {{}}}}\n" for at in range(count)))
        said = [remark.text for remark in watching.rules.load().remarks]
        assert len(said) > 6
        more = (
            [f"{len(said) - 50} more such lines about rules; `rightcall check` prints them"] if len(said) > 50 else []
        )
        assert caplog.messages == said[:50] + more
    caplog.handler.removeFilter(limit)


def test_a_mistake_is_told_of_however_soon_it_follows_others(
    watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(limit := RepeatLimit())

    async def scenario() -> None:
        for key in "abcde":
            watching.file.write_text(f"{key}: 1\n")
            watching.rules.ask()
            await until(lambda key=key: f"rules.yaml:1: {key}: unknown key" in caplog.text)

    watching.run(scenario)
    caplog.handler.removeFilter(limit)
