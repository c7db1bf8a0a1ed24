"""Who the collector is in telemetry of its own; ``OTEL_RESOURCE_ATTRIBUTES`` and ``OTEL_SERVICE_NAME`` have the last word."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from collector import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource


SCOPE = "rightcall.collector"
"""The instrumentation scope of all of it."""


@cache
def resource() -> Resource:
    """The same for spans and metrics of this process."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415 - only where it is wanted

    ours = {"service.name": "rightcall", "service.version": __version__, "service.instance.id": str(uuid4())}
    return Resource.create(ours).merge(OTELResourceDetector().detect())
