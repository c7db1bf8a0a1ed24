"""The resource of the collector's own telemetry; ``OTEL_RESOURCE_ATTRIBUTES`` and ``OTEL_SERVICE_NAME`` override it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from collector import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource


SCOPE = "rightcall.collector"
"""The instrumentation scope of the collector's own telemetry."""


@cache
def resource() -> Resource:
    """Returns the resource of this process, the same for spans and metrics."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415 - only if enabled

    attributes = {"service.name": "rightcall", "service.version": __version__, "service.instance.id": str(uuid4())}
    return Resource.create(attributes).merge(OTELResourceDetector().detect())
