"""Clients of judge models, one file each; `build` is the only place that knows them all."""

from __future__ import annotations

import importlib.util

from collector.component import Judge
from collector.config.judge import JudgeConfig
from collector.errors import ConfigError

MISSING = "`judge:` needs the extra judge; in a checkout: pip install '.[judge]'"


def build(config: JudgeConfig) -> Judge:
    """Returns the configured judge. Raises ConfigError if its extra is not installed, or a file cannot be used."""
    if importlib.util.find_spec("openai") is None:
        raise ConfigError(MISSING)
    from collector.judging.clients.openai import OpenAIJudge  # noqa: PLC0415 - half a second, needed only with a judge

    return OpenAIJudge(config)
