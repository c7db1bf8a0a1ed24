"""OpenAI's Agents SDK under OpenTelemetry's own instrumentations of it and of the OpenAI client."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from agents import Agent, Runner, function_tool
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import AGENT, INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch both on; traces go to OpenTelemetry only."""
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider, disable_openai_trace_export=True)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


def ask(user_input: str, tools: Tools) -> str:
    """Ask the agent; the SDK itself tells the model of a tool that fails."""
    agent = Agent(name=AGENT, instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(tool) for tool in tools])
    return str(Runner.run_sync(agent, user_input).final_output)


if __name__ == "__main__":
    record(instrument, ask)
