"""Models that can be asked. One file each; `build` is the only place that knows them all."""

from __future__ import annotations

import importlib.util

from collector.component import Judge
from collector.config.judge import JudgeConfig
from collector.errors import ConfigError

MISSING = "`judge:` needs the extra judge: pip install 'rightcall[judge]'"


def build(config: JudgeConfig) -> Judge:
    """The judge that is configured. Raises ConfigError where what it needs is not installed, or a file cannot be used."""
    if importlib.util.find_spec("openai") is None:
        raise ConfigError(MISSING)
    from collector.judging.clients.openai import OpenAIJudge  # noqa: PLC0415 - half a second that only those with a judge pay

    return OpenAIJudge(config)
