"""An agent of Pydantic AI; shared by the scripts of its instrumentations."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.record.scenarios import INSTRUCTIONS, MODEL, CardDeclinedError
from tests.record.session import Tools


def instrument(provider: TracerProvider) -> None:
    """Switch its own instrumentation on for all agents."""
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; a tool that fails asks the model to try again."""
    model = OpenAIChatModel(
        MODEL, provider=OpenAIProvider(openai_client=AsyncOpenAI())
    )  # an inner agent has its own loop
    agent = Agent(model, name=name, instructions=INSTRUCTIONS, tools=[_retried(t) for t in tools])
    return str(asyncio.run(agent.run(user_input)).output)


def _retried(tool: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(tool)
    def retried(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except CardDeclinedError as error:
            raise ModelRetry(str(error)) from error

    return retried
