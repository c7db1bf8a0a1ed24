"""Loads the rules, and loads them again when asked to or when a rule file changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from collector.config.model import Config
from collector.config.yaml_documents import digest_of, let_go, rule_paths, rule_versions
from collector.errors import ConfigError
from collector.results.verdict_counter import begin_counters
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.service.announcement import in_force
from collector.service.log_config import OPERATOR
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from scorers.quoting import printable

_log = logging.getLogger(__name__)
_CHECK_INTERVAL = 2.0  # seconds between looks at the rule files
_MAX_REMARKS = 50  # lines in the log, at each reload
_EMPTY = digest_of(b"")


class RuleReload:
    """The rule files of a configuration. Rules that cannot be loaded leave those in force, and are counted."""

    def __init__(self, config: Config, telemetry: Telemetry, tracing: SelfTracing) -> None:
        self._config, self._telemetry, self._tracing = config, telemetry, tracing
        # Looked at before the files are read, so that a change in between is seen the next time.
        self._versions = rule_versions(config.rules)
        self._asked = asyncio.Event()
        self._rules: LoadedRules | None = None
        self._objectives: dict[tuple[str, str], float] = {}  # by the labels of their metric

    def load(self) -> LoadedRules:
        """Load the rules. Raises ConfigError."""
        rules = self._rules = self._read()
        return rules

    def ask(self) -> None:
        """Make ``watch`` load the rules again, whether or not a file changed."""
        self._asked.set()

    async def watch(self, use: Callable[[LoadedRules], None]) -> None:
        """Hand the rules to ``use`` when asked and when a file changes, until cancelled.

        Kubernetes swaps ConfigMap files without a signal. Files are looked at and read on a thread: they may be large, or on
        a file system that does not answer.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _CHECK_INTERVAL)
            asked = self._asked.is_set()
            self._asked.clear()
            versions = await asyncio.to_thread(rule_versions, self._config.rules)
            if asked or versions != self._versions:
                # Kept for rules that are refused, too: a mistake is reported once, not every two seconds.
                self._versions = versions
                await self._reload(use)

    async def _reload(self, use: Callable[[LoadedRules], None]) -> None:
        try:
            with self._tracing.span("reload rules"):
                rules = await asyncio.to_thread(self._read, _GiveWay())
                use(rules)
                # Freeing 10,000 rules at once would hold the interpreter: they are let go one by one, on the thread.
                replaced = list(self._rules.set.rules) if self._rules is not None else []
                self._rules = rules
                await asyncio.to_thread(let_go, replaced, _GiveWay())
        except ConfigError as error:
            self._refused()
            _log.error("the new rules are invalid, keeping the old ones:\n%s", error, extra=OPERATOR)
        except Exception:  # noqa: BLE001 - a bug, or a file nobody expected, must not end the watch without a word
            self._refused()
            _log.exception("the new rules cannot be loaded, keeping the old ones")
        else:
            self._telemetry.rules_refused.set(0)
            _log.info("rules reloaded: %s", in_force(rules), extra=OPERATOR)

    def _refused(self) -> None:
        self._telemetry.rules_reload_failures.inc()
        self._telemetry.rules_refused.set(1)

    def _read(self, pause: Callable[[], None] | None = None) -> LoadedRules:
        paths = rule_paths(self._config.rules)
        # A volume that was unmounted leaves an empty folder: without a word, nothing would be scored any more.
        if not paths and self._rules is not None and self._rules.files:
            raise ConfigError(f"no rule file is left in {', '.join(map(str, self._config.rules))}")
        rules = load_rules(paths, self._rules, pause)
        self._refuse_emptied(rules)
        self._publish(rules, pause)
        return rules

    def _refuse_emptied(self, rules: LoadedRules) -> None:
        """Raise ConfigError where a file that was in use is empty, as it is while a download or an editor writes it anew."""
        before = dict(self._rules.files) if self._rules is not None else {}
        emptied = [name for name, digest in rules.files if digest == _EMPTY and before.get(name, _EMPTY) != _EMPTY]
        if emptied:
            raise ConfigError(f"{', '.join(emptied)}: empty; write it, remove it, or write `rules: []`")

    def _publish(self, rules: LoadedRules, pause: Callable[[], None] | None) -> None:
        """Warn of what is hardly meant, and bring the metrics about rules up to date."""
        if rules.set.has_judges() and self._config.judge is None:
            _log.warning("some rules have scorers that ask a model, but no `judge:` is configured: they give no scores")
        for remark in rules.remarks[:_MAX_REMARKS]:
            _log.warning("%s", remark.text, extra=OPERATOR)
        if (more := len(rules.remarks) - _MAX_REMARKS) > 0:
            _log.warning("%d more such lines about rules; `rightcall check` prints them", more, extra=OPERATOR)
        self._telemetry.rules_info.clear()
        for file, digest in rules.files:
            self._telemetry.rules_info.labels(printable(file), digest).set(1)
        gauge, before, self._objectives = self._telemetry.rule_objective_ratio, self._objectives, {}
        for rule in (compiled.rule for compiled in rules.set.rules):
            if pause is not None:
                pause()
            if rule.objective is not None:
                labels = printable(rule.name), printable(rule.scorers[0].name or rule.scorers[0].system)
                self._objectives[labels] = rule.objective
                if before.pop(labels, None) != rule.objective:
                    gauge.labels(*labels).set(rule.objective)
        for labels in before:
            gauge.remove(*labels)
        begin_counters(self._telemetry, rules.set, pause)


class _GiveWay:
    """Called often on a thread, it lets the event loop go on each millisecond: the interpreter itself would every five."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            time.sleep(_PAUSE)
            self._next = time.monotonic() + _WORK


_WORK = 0.001  # seconds
_PAUSE = 0.0001
