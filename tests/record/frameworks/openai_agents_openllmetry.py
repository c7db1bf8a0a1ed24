"""OpenAI's Agents SDK under OpenLLMetry."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from agents import set_trace_processors
from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.openai_agents_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch it on."""
    set_trace_processors([])  # none that sends to OpenAI
    OpenLLMetry().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
