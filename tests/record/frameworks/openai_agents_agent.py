"""An agent of OpenAI's Agents SDK; shared by the scripts of its instrumentations."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from agents import Agent, OpenAIResponsesModel, Runner, function_tool
from openai import AsyncOpenAI

from tests.record.scenarios import APPROVALS, INSTRUCTIONS, MODEL
from tests.record.session import Tools


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent, and a human where a tool needs it; the SDK reports a failed tool to the model itself."""
    offered = [function_tool(tool, needs_approval=tool.__name__ in APPROVALS) for tool in tools]
    model = OpenAIResponsesModel(MODEL, AsyncOpenAI())  # an inner agent has an event loop of its own, so also a client
    agent = Agent(name=name, instructions=INSTRUCTIONS, model=model, tools=offered)
    result = Runner.run_sync(agent, user_input)
    while result.interruptions:
        state = result.to_state()
        for call in result.interruptions:
            decide = state.approve if APPROVALS[call.name] else state.reject
            decide(call)
        result = Runner.run_sync(agent, state)
    return str(result.final_output)
