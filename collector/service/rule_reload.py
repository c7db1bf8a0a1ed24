"""Loads the rules, and loads them again when asked to or when a rule file changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from collector.config.model import Config
from collector.config.yaml_documents import rule_paths
from collector.errors import ConfigError
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing

_log = logging.getLogger(__name__)
_CHECK_INTERVAL = 2.0  # seconds between looks at the rule files


class RuleReload:
    """The rule files of a configuration. Rules that cannot be loaded leave those in force, and are counted."""

    def __init__(self, config: Config, telemetry: Telemetry, tracing: SelfTracing) -> None:
        self._config, self._telemetry, self._tracing = config, telemetry, tracing
        self._versions = _versions(config.rules)

    def load(self) -> LoadedRules:
        """Load the rules. Raises ConfigError."""
        rules = load_rules(rule_paths(self._config.rules))
        if rules.set.has_judges() and self._config.judge is None:
            _log.warning("some rules have scorers that ask a model, but no `judge:` is configured: they give no scores")
        self._telemetry.rules_info.clear()
        for file, digest in rules.files:
            self._telemetry.rules_info.labels(file, digest).set(1)
        return rules

    def reload(self, use: Callable[[LoadedRules], None]) -> None:
        """Load the rules again and hand them to ``use``."""
        try:
            with self._tracing.span("reload rules"):
                use(self.load())
        except ConfigError as error:
            self._telemetry.rules_reload_failures.inc()
            _log.error("the new rules are invalid, keeping the old ones:\n%s", error)
        else:
            _log.info("rules reloaded")

    async def watch(self, use: Callable[[LoadedRules], None]) -> None:
        """Reload whenever a rule file changes, until cancelled: Kubernetes swaps ConfigMap files without a signal."""
        while True:
            await asyncio.sleep(_CHECK_INTERVAL)
            versions = _versions(self._config.rules)
            if versions != self._versions:
                self._versions = versions
                self.reload(use)


def _versions(paths: list[Path]) -> list[tuple[str, int, int]]:
    """Path, modification time and size of each rule file; empty where they cannot be read."""
    try:
        return [(str(path), (stat := path.stat()).st_mtime_ns, stat.st_size) for path in rule_paths(paths)]
    except (ConfigError, OSError):
        return []
