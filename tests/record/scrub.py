"""Removes from OTLP requests what identifies the machine on which they were recorded."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

_REQUESTS: dict[str, type[Message]] = {"/v1/traces": ExportTraceServiceRequest, "/v1/logs": ExportLogsServiceRequest}
_MACHINE_PREFIXES = ("host.", "os.", "process.", "service.instance.")
"""Prefixes of the resource attributes that are dropped."""


def scrubbed(path: str, body: bytes, replaced: Mapping[str, str]) -> bytes:
    """Returns the request without attributes of host and process, with the texts in ``replaced`` replaced, longest first."""
    request = _REQUESTS[path]()
    request.ParseFromString(body)
    _scrub(request, sorted(replaced.items(), key=lambda item: -len(item[0])))
    return request.SerializeToString()


def _scrub(message: Message, replaced: list[tuple[str, str]]) -> None:
    if isinstance(message, Resource):
        kept = [attribute for attribute in message.attributes if not attribute.key.startswith(_MACHINE_PREFIXES)]
        del message.attributes[:]
        message.attributes.extend(kept)
    for field, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, field.name, _replace(value, replaced))
        elif isinstance(value, Message):
            _scrub(value, replaced)
        elif field.message_type is not None:
            for item in value:
                _scrub(item, replaced)


def _replace(text: str, replaced: list[tuple[str, str]]) -> str:
    for old, new in replaced:
        text = text.replace(old, new)
    return text
