"""OpenAI's Agents SDK under OpenInference, its tools behind the MCP SDK, which records their calls itself."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.mcp_server import SERVER, mcp_server
from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch it on; the MCP SDK's own spans need no switch."""
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; the SDK puts ``mcp_travel__`` before the tools' names."""

    async def run(address: str) -> str:
        async with MCPServerStreamableHttp({"url": address}, name=SERVER) as server:
            agent = Agent(
                name=name,
                instructions=INSTRUCTIONS,
                model=MODEL,
                mcp_servers=[server],
                mcp_config={"include_server_in_tool_names": True},
            )
            return str((await Runner.run(agent, user_input)).final_output)

    with mcp_server(tools) as address:
        return asyncio.run(run(address))


if __name__ == "__main__":
    record(instrument, ask)
