"""OpenAI's Agents SDK under OpenLLMetry and Logfire at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logfire
from agents import set_trace_processors
from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.logfire_provider import logfire_provider
from tests.record.frameworks.openai_agents_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    set_trace_processors([])  # none that sends to OpenAI
    OpenLLMetry().instrument(tracer_provider=provider)
    logfire.instrument_openai_agents()


if __name__ == "__main__":
    record(instrument, ask, make_provider=logfire_provider)
