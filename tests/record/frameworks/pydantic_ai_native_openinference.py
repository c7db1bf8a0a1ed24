"""Pydantic AI under its own instrumentation, to whose spans OpenInference adds its attributes."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.pydantic_ai_agent import ask
from tests.record.frameworks.pydantic_ai_agent import instrument as instrument_native
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    provider.add_span_processor(OpenInferenceSpanProcessor())
    instrument_native(provider)


if __name__ == "__main__":
    record(instrument, ask)
