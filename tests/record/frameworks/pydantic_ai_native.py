"""Pydantic AI under its own instrumentation, as it is by default."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings

from tests.record.scenarios import AGENT, INSTRUCTIONS, MODEL, CardDeclinedError
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch it on for all agents."""
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))


def ask(user_input: str, tools: Tools) -> str:
    """Ask the agent; a tool that fails asks the model to try again."""
    agent = Agent(f"openai-chat:{MODEL}", name=AGENT, instructions=INSTRUCTIONS, tools=[_retried(t) for t in tools])
    return str(agent.run_sync(user_input).output)


def _retried(tool: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(tool)
    def retried(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except CardDeclinedError as error:
            raise ModelRetry(str(error)) from error

    return retried


if __name__ == "__main__":
    record(instrument, ask)
