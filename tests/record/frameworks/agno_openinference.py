"""Agno under OpenInference."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import AGENT, INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch it on."""
    AgnoInstrumentor().instrument(tracer_provider=provider)


def ask(user_input: str, tools: Tools) -> str:
    """Ask the agent; Agno itself tells the model of a tool that fails."""
    agent = Agent(name=AGENT, model=OpenAIChat(id=MODEL), instructions=INSTRUCTIONS, tools=list(tools))
    return str(agent.run(user_input).content)


if __name__ == "__main__":
    record(instrument, ask)
