"""Agno under OpenInference."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.agno_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch it on."""
    AgnoInstrumentor().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
