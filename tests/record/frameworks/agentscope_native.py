"""AgentScope under its own tracing."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import os

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.message import UserMsg
from agentscope.middleware import TracingMiddleware
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record

ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="for the recording")


def instrument(provider: TracerProvider) -> None:
    """Nothing to switch on: the middleware of the agent writes to the provider of the process."""


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; AgentScope reports a failed tool to the model itself."""
    credential = OpenAICredential(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
    agent = Agent(
        name=name,
        system_prompt=INSTRUCTIONS,
        model=OpenAIChatModel(credential, MODEL, stream=False),
        toolkit=Toolkit([FunctionTool(tool, permission=ALLOWED) for tool in tools]),
        middlewares=[TracingMiddleware()],
    )
    return str(asyncio.run(agent.reply(UserMsg("user", user_input))).get_text_content())


if __name__ == "__main__":
    record(instrument, ask)
