"""The tracer provider of an application that configures Logfire and exports over OTLP/HTTP."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from typing import cast

import logfire
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider


def logfire_provider(service: str) -> TracerProvider:
    """Configure Logfire; it exports to the address in ``OTEL_EXPORTER_OTLP_ENDPOINT``."""
    logfire.configure(service_name=service, send_to_logfire=False, console=False, inspect_arguments=False)
    return cast(TracerProvider, trace.get_tracer_provider())
