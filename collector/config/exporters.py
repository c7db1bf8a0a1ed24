"""The section ``exporters``: where telemetry and results go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
    field_validator,
    model_validator,
)

from collector.component import SIGNALS, Signal
from collector.config.endpoints import OtlpEndpoint, doubts_about, shown_endpoint
from collector.config.fields import Duration, Headers, Listen, LocalPath, RetryConfig, Section, TlsConfig, also
from collector.config.kafka import KafkaClientConfig, KafkaTopic


class SendingQueueConfig(Section):
    """Requests waiting to be sent. If it is full, senders are asked to slow down."""

    queue_size: int = Field(10_000, ge=1, description="requests that wait or are being sent")
    max_size_mib: int = Field(256, ge=1, description="in memory; a spool has its own limit")
    num_consumers: int = Field(4, ge=1, le=64, description="requests of one signal sent at once")


class OtlpSettings(Section):
    """How requests are sent."""

    headers: Headers = {}
    compression: Literal["none", "gzip"] = "none"
    timeout: Duration = Field(10.0, description="for a whole exchange with the backend")
    tls: TlsConfig = TlsConfig()
    retry_on_failure: RetryConfig = RetryConfig()
    sending_queue: SendingQueueConfig = SendingQueueConfig()


class OtlpExporterConfig(OtlpSettings):
    """One backend. ``endpoint`` is host:port for gRPC, or a URL with http:// or https:// for OTLP/HTTP."""

    endpoint: OtlpEndpoint


# An instance, since None means something else: that the signal goes to the common endpoint.
OFF: Final = OtlpExporterConfig.model_construct(endpoint="")
"""Stands for a signal that is not exported."""


def _or_off(value: Any, handler: ValidatorFunctionWrapHandler) -> OtlpExporterConfig | None:
    if value is False or value == "off" or value is OFF:  # YAML reads off as false
        return OFF
    if value is True or (isinstance(value, str) and value):
        raise ValueError(
            f"{value!r} is no backend: use off or {{endpoint: ...}}; without it, it goes to the endpoint above"
        )
    checked: OtlpExporterConfig | None = handler(value)
    return checked


def _shown(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    return "off" if value is OFF else handler(value)


OwnBackend = Annotated[OtlpExporterConfig | None, WrapValidator(_or_off), WrapSerializer(_shown)]


class Destination(NamedTuple):
    """A backend and what it gets. ``name`` is the value of the label ``exporter``, ``place`` its place in the configuration."""

    name: str
    place: str
    backend: OtlpExporterConfig
    signals: tuple[Signal, ...]

    @property
    def signal(self) -> Signal | None:
        """The signal of a backend that is for one only."""
        return self.signals[0] if self.name != "otlp" else None


class OtlpExportersConfig(OtlpSettings):
    """The backend for annotated traces, evaluation events (logs) and passed-through telemetry.

    ``endpoint`` is host:port for gRPC, or a URL with http:// or https:// for OTLP/HTTP. ``traces``, ``logs`` and ``metrics``
    each name a backend of their own with the same keys, which inherits nothing from here, or are ``off``.
    """

    endpoint: OtlpEndpoint | None = None
    traces: OwnBackend = Field(None, json_schema_extra=also("off", False), description="a backend of their own, or off")
    logs: OwnBackend = Field(None, json_schema_extra=also("off", False), description="a backend of their own, or off")
    metrics: OwnBackend = Field(
        None, json_schema_extra=also("off", False), description="a backend of their own, or off"
    )

    @model_validator(mode="after")
    def _has_endpoints(self) -> OtlpExportersConfig:
        missing = [signal for signal in SIGNALS if getattr(self, signal) is None]
        if self.endpoint is None and missing:
            alternative = f", or for {' and '.join(missing)} an endpoint of their own or off"
            fix = alternative if len(missing) < len(SIGNALS) else ""
            raise ValueError(f"set endpoint, such as endpoint: tempo:4317{fix}")
        return self

    @property
    def off(self) -> tuple[Signal, ...]:
        """The signals that are not exported."""
        return tuple(signal for signal in SIGNALS if getattr(self, signal) is OFF)

    def destinations(self) -> Iterator[Destination]:
        """Yield each backend once."""
        common = tuple(signal for signal in SIGNALS if getattr(self, signal) is None)
        if self.endpoint is not None and common:
            settings = {name: getattr(self, name) for name in OtlpSettings.model_fields}
            backend = OtlpExporterConfig.model_construct(endpoint=self.endpoint, **settings)
            yield Destination("otlp", "exporters.otlp", backend, common)
        for signal in SIGNALS:
            own: OtlpExporterConfig | None = getattr(self, signal)
            if own is not None and own is not OFF:
                yield Destination(f"otlp/{signal}", f"exporters.otlp.{signal}", own, (signal,))


AttributeName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][\w./-]*$", max_length=100)]
_OWN_LABELS: Final = frozenset({
    "rule", "route", "intent", "scorer", "label", "tool", "outcome", "le", "trace_id", "job", "instance",
})  # fmt: skip


def label_name(attribute: str) -> str:
    """Returns the name of an attribute as a label of Prometheus: ``service_version``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", attribute)


class PrometheusExporterConfig(Section):
    """The /metrics listener. Each label keeps ``max_label_values`` values; further ones become ``__other__``.

    So do combinations of values beyond ten times as many.

    ``dimensions`` are attributes of the run, of its resource or else of its model requests that become labels of evaluations,
    scores and tool calls, and attributes of events: ``service.version`` is the label ``service_version``.
    """

    endpoint: Listen = "127.0.0.1:9464"
    max_label_values: int = Field(
        200, ge=1, description="per label, and combinations of dimensions; further ones are counted under `__other__`"
    )
    dimensions: list[AttributeName] = Field([], max_length=8, examples=[["service.version", "gen_ai.request.model"]])

    @field_validator("dimensions")
    @classmethod
    def _are_new_labels(cls, names: list[str]) -> list[str]:
        labels: dict[str, str] = {}
        for name in names:
            label = label_name(name)
            if label in _OWN_LABELS:
                raise ValueError(f"{name} is the label {label}, which the metrics have already")
            # Two attributes that differ only in punctuation would be one label, with the values of both.
            if label in labels:
                raise ValueError(f"{name} and {labels[label]} are both the label {label}")
            labels[label] = name
        return names


class KafkaExporterConfig(KafkaClientConfig):
    """Writes traces to a topic, one trace a message, and evaluation events to another; signals without one are not written.

    The key of a message is the trace id in hex.
    """

    traces: KafkaTopic | None = None
    logs: KafkaTopic | None = None
    timeout: Duration = Field(30.0, gt=0, description="until the brokers have a message")
    retry_on_failure: RetryConfig = RetryConfig()
    sending_queue: SendingQueueConfig = SendingQueueConfig()

    @model_validator(mode="after")
    def _has_a_topic(self) -> KafkaExporterConfig:
        if not self.signals():
            raise ValueError("set a topic, such as traces: {topic: scored_spans}")
        return self

    def signals(self) -> tuple[Signal, ...]:
        """Returns the signals that are written."""
        return tuple(signal for signal in ("traces", "logs") if getattr(self, signal) is not None)


class RotationConfig(Section):
    """A full file is renamed, with the time in its name; the oldest of those are deleted."""

    max_megabytes: int = Field(100, ge=1, le=1000, description="of the file; one larger line is written all the same")
    max_backups: int = Field(10, ge=0, description="renamed files that are kept")


class FileExporterConfig(Section):
    """Writes everything that is exported to a file too: JSON lines, as the OpenTelemetry Collector's file exporter does.

    ``rightcall score`` reads them. The file may hold what users said: only the user of the collector may read it.
    """

    path: LocalPath = Field(examples=["traces/agents.jsonl"])
    rotation: RotationConfig = RotationConfig()

    @model_validator(mode="after")
    def _is_read_as_lines(self) -> FileExporterConfig:
        if self.path.suffix != ".jsonl":
            raise ValueError(f"{str(self.path)!r} must end in .jsonl: rightcall score reads JSON lines under that name")
        return self


class DebugExporterConfig(Section):
    """Writes everything that is exported to the log: how much (basic), a line for each item (normal), or all (detailed)."""

    verbosity: Literal["basic", "normal", "detailed"] = "basic"


class ExportersConfig(Section):
    """The exporters of telemetry and results."""

    otlp: OtlpExportersConfig | None = None
    kafka: KafkaExporterConfig | None = None
    file: FileExporterConfig | None = None
    debug: DebugExporterConfig | None = None
    prometheus: PrometheusExporterConfig = PrometheusExporterConfig()

    def destinations(self) -> list[Destination]:
        """Returns every OTLP backend of telemetry."""
        return list(self.otlp.destinations()) if self.otlp is not None else []

    def queues_mib(self) -> list[int]:
        """Returns how much each sending queue may take, in MiB."""
        others = [exporter for exporter in (self.file, self.debug) if exporter is not None]
        kafka = [self.kafka.sending_queue.max_size_mib] if self.kafka is not None else []
        return (
            [to.backend.sending_queue.max_size_mib for to in self.destinations()]
            + kafka
            # They have a queue too, and no setting for its size.
            + [SendingQueueConfig().max_size_mib for _ in others]
        )

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Yield what is probably not meant: the place in the configuration, and a sentence."""
        for destination in self.destinations():
            backend, tls = destination.backend, destination.backend.tls
            files = tls.ca_file is not None or tls.cert_file is not None
            for doubt in doubts_about(
                backend.endpoint, insecure=tls.insecure, tls_files=files, signal=destination.signal
            ):
                yield f"{destination.place}.endpoint", f"{shown_endpoint(backend.endpoint)}: {doubt}"
