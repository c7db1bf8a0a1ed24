"""OpenAI's Agents SDK under OpenTelemetry's own instrumentations of it and of the OpenAI client."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.openai_agents_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on; traces go to OpenTelemetry only."""
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider, disable_openai_trace_export=True)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
