"""OpenAI's Agents SDK under OpenInference and OpenLLMetry at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference
from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.openai_agents_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    OpenInference().instrument(tracer_provider=provider)
    OpenLLMetry().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
