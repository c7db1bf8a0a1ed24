"""An agent of LangChain's ``create_agent``; shared by the scripts of its instrumentations."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_openai import ChatOpenAI

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; a failed tool is reported to the model, which may try again."""
    failures = ToolRetryMiddleware(max_retries=0, on_failure=lambda error: f"Error: {error}")
    agent = create_agent(
        ChatOpenAI(model=MODEL), list(tools), system_prompt=INSTRUCTIONS, name=name, middleware=[failures]
    )
    answer = agent.invoke({"messages": [("user", user_input)]})
    return str(answer["messages"][-1].content)
