"""LangChain under OpenTelemetry's own instrumentation."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.langchain_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch it on."""
    LangChainInstrumentor().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
