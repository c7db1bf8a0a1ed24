"""Pydantic AI under its own instrumentation, its tools behind the MCP SDK, which records their calls itself."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

from tests.record.frameworks.mcp_server import SERVER, mcp_server
from tests.record.frameworks.pydantic_ai_agent import instrument
from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; it puts ``travel_`` before the tools' names."""
    with mcp_server(tools) as address:
        toolset = MCPToolset(address).prefixed(SERVER)
        agent = Agent(f"openai-chat:{MODEL}", name=name, instructions=INSTRUCTIONS, toolsets=[toolset])
        return str(agent.run_sync(user_input).output)


if __name__ == "__main__":
    record(instrument, ask)
