"""LangChain under OpenInference and OpenLLMetry at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference
from opentelemetry.instrumentation.langchain import LangchainInstrumentor as OpenLLMetry
from opentelemetry.sdk.trace import TracerProvider

from tests.record.frameworks.langchain_agent import ask
from tests.record.session import record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    OpenInference().instrument(tracer_provider=provider)
    OpenLLMetry().instrument(tracer_provider=provider)


if __name__ == "__main__":
    record(instrument, ask)
