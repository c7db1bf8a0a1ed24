"""Agno under OpenTelemetry's own instrumentation and OpenInference at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from openinference.instrumentation.agno import AgnoInstrumentor as OpenInference
from opentelemetry.instrumentation.genai.agno import AgnoInstrumentor as Official
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.agno_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    Official().instrument(tracer_provider=provider)
    OpenInference().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
