"""An agent of Agno; shared by the scripts of its instrumentations."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; Agno reports a failed tool to the model itself."""
    agent = Agent(name=name, model=OpenAIChat(id=MODEL), instructions=INSTRUCTIONS, tools=list(tools))
    return str(agent.run(user_input).content)
