"""The collector's configuration: what a user may write, its defaults, and its mistakes.

The words are the OpenTelemetry Collector's where it has them. Unknown keys are refused with the nearest known name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from collector.config.fields import Duration, LocalPath, RetryConfig, Section, TlsConfig
from collector.config.judge import JudgeConfig
from collector.config.yaml_documents import Document, Where, environment, load_yaml, nearest


def _host_port(value: Any) -> Any:
    host, colon, port = str(value).rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ValueError(f"{value!r} is not host:port, such as 0.0.0.0:4317")
    return f"{host or '0.0.0.0'}:{port}"  # noqa: S104 - ":4317" means every address, as in the Collector


def _lower(value: Any) -> Any:
    """``INFO`` is written in the OpenTelemetry Collector's examples as often as ``info``."""
    return value.lower() if isinstance(value, str) else value


Listen = Annotated[str, BeforeValidator(_host_port)]


class ServerTlsConfig(Section):
    """TLS of a listener. With ``client_ca_file`` clients must show a certificate signed by it."""

    cert_file: LocalPath
    key_file: LocalPath
    client_ca_file: LocalPath | None = None
    reload_interval: Duration = 30.0


class BearerAuthConfig(Section):
    """What senders must show in ``authorization: Bearer ...``. The file has one token a line, so that they can change."""

    bearer_token: SecretStr | None = None
    bearer_token_file: LocalPath | None = None
    reload_interval: Duration = 30.0

    @model_validator(mode="after")
    def _one_of_them(self) -> BearerAuthConfig:
        if (self.bearer_token is None) == (self.bearer_token_file is None):
            raise ValueError("set exactly one of bearer_token and bearer_token_file")
        if self.bearer_token is not None and not self.bearer_token.get_secret_value():
            raise ValueError("bearer_token is empty")
        return self


class GrpcServerConfig(Section):
    """OTLP/gRPC listener."""

    endpoint: Listen = "127.0.0.1:4317"
    tls: ServerTlsConfig | None = None
    auth: BearerAuthConfig | None = None
    max_recv_msg_size_mib: int = Field(64, ge=1, le=1024)
    max_concurrent_streams: int = Field(256, ge=1)
    max_connections: int = Field(1024, ge=1)
    read_timeout: Duration = 30.0


class HttpServerConfig(Section):
    """OTLP/HTTP listener. ``max_request_body_size_mib`` holds before and after decompression."""

    endpoint: Listen = "127.0.0.1:4318"
    tls: ServerTlsConfig | None = None
    auth: BearerAuthConfig | None = None
    max_request_body_size_mib: int = Field(64, ge=1, le=1024)
    read_header_timeout: Duration = 10.0
    read_timeout: Duration = 30.0
    max_connections: int = Field(1024, ge=1)


class ProtocolsConfig(Section):
    """The OTLP listeners; name only those wanted, ``grpc:`` alone takes the defaults."""

    grpc: GrpcServerConfig | None = None
    http: HttpServerConfig | None = None


class OtlpReceiverConfig(Section):
    """The OTLP receiver."""

    protocols: ProtocolsConfig = ProtocolsConfig(grpc=GrpcServerConfig(), http=HttpServerConfig())


class ReceiversConfig(Section):
    """Where telemetry comes in."""

    otlp: OtlpReceiverConfig = OtlpReceiverConfig()


class TracesConfig(Section):
    """When a trace counts as whole, and how much of it is kept until then.

    ``settle`` is the quiet time after a trace looks whole, ``idle_timeout`` the quiet time after which it is taken as
    it is. SDK batch processors hold spans up to 5 s, so ``idle_timeout`` must be longer than that.
    """

    settle: Duration = 2.0
    idle_timeout: Duration = 30.0
    max_duration: Duration = 600.0
    max_open: int = Field(100_000, ge=1)
    max_spans: int = Field(10_000, ge=1, description="GenAI spans kept of one trace")
    max_held_mib: int = Field(512, ge=1, description="bytes of spans waiting for their verdict, all traces together")
    remember: int = Field(10_000, ge=0, description="finished traces kept to recognise late and repeated spans")


class ConversationsConfig(Section):
    """When a conversation counts as over, for rules of scope ``conversation``, and how much of it is kept until then.

    ``idle_timeout`` is the quiet time after its last run: it should be longer than a user's pauses and an agent's runs.
    Beyond a limit the conversation quiet longest gets its verdict as it is, labelled incomplete.
    """

    idle_timeout: Duration = 300.0
    max_duration: Duration = Field(86_400.0, description="a conversation still going on then is labelled incomplete")
    max_open: int = Field(10_000, ge=1)
    max_runs: int = Field(100, ge=1, description="runs kept of one conversation")
    max_calls: int = Field(1_000, ge=1, description="tool calls kept of one conversation")
    max_held_mib: int = Field(64, ge=1, description="bytes of runs, all conversations together")
    remember: int = Field(1_000, ge=0, description="conversations kept after their verdict, so that it can be revised")


class ContextConfig(Section):
    """Which attributes say route and intent; the first that is present wins."""

    route: list[str] = ["rightcall.route", "http.route"]
    intent: list[str] = ["rightcall.intent", "gen_ai.workflow.name"]


class SendingQueueConfig(Section):
    """Requests waiting to be sent. When it is full, senders are asked to slow down."""

    queue_size: int = Field(10_000, ge=1, description="requests")
    max_size_mib: int = Field(256, ge=1, description="in memory; a spool has a limit of its own")
    num_consumers: int = Field(4, ge=1, le=64)


class OtlpExporterConfig(Section):
    """Where annotated traces, passed-through telemetry and evaluation events go.

    ``endpoint`` is host:port for gRPC, or a URL with http:// or https:// for OTLP/HTTP.
    """

    endpoint: str
    headers: dict[str, str] = {}
    compression: Literal["none", "gzip"] = "none"
    timeout: Duration = 10.0
    tls: TlsConfig = TlsConfig()
    retry_on_failure: RetryConfig = RetryConfig()
    sending_queue: SendingQueueConfig = SendingQueueConfig()


class PrometheusExporterConfig(Section):
    """The /metrics listener. Each label keeps ``max_label_values`` values; further ones become ``__other__``."""

    endpoint: Listen = "127.0.0.1:9464"
    max_label_values: int = Field(200, ge=1)


class SpoolConfig(Section):
    """What was acknowledged and not delivered yet, on disk, so that a crash loses none of it.

    With ``fsync`` an acknowledgement survives a power cut; without, it survives the death of the process only.
    """

    path: LocalPath = Field(Path("/var/lib/rightcall"), description="a folder of its own; created where it is missing")
    max_size_mib: int = Field(1024, ge=16, description="beyond it senders are asked to slow down")
    fsync: bool = True


def _spool(value: Any) -> Any:
    if value == "memory":
        return None
    if not isinstance(value, (dict, SpoolConfig)):
        raise ValueError(f"{value!r} is not a spool: use memory or {{path: FOLDER}}")
    return value


def _also_memory(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"const": "memory"}, *(kind for kind in schema["anyOf"] if kind.get("type") != "null")]


class ExportersConfig(Section):
    """Where results go."""

    otlp: OtlpExporterConfig | None = None
    prometheus: PrometheusExporterConfig = PrometheusExporterConfig()


class MemoryLimiterConfig(Section):
    """Above ``limit_mib`` less ``spike_limit_mib`` senders are asked to wait; above ``limit_mib`` open traces are evicted."""

    limit_mib: int | None = Field(None, ge=64, description="resident memory of the process; unlimited where absent")
    spike_limit_mib: int | None = Field(None, ge=1, description="a fifth of limit_mib by default")
    check_interval: Duration = 0.25

    def spike(self) -> int:
        """How far the soft limit lies below the hard one, in MiB."""
        return (self.limit_mib or 0) // 5 if self.spike_limit_mib is None else self.spike_limit_mib

    @model_validator(mode="after")
    def _below(self) -> MemoryLimiterConfig:
        if self.limit_mib is not None and self.spike() >= self.limit_mib:
            raise ValueError("spike_limit_mib must be below limit_mib")
        return self


class RedactionConfig(Section):
    """What must not leave in held spans, evaluation events and log records of agents; scoring still sees it.

    Values of attributes whose name matches a glob are replaced; of all other texts only what matches a pattern. With
    ``pass_through`` spans and logs that are only passed on are redacted too, which costs parsing every one of them.
    """

    attributes: list[str] = Field([], examples=[["gen_ai.tool.call.arguments", "gen_ai.*.messages"]])
    patterns: list[str] = Field([], examples=[["\\b[0-9]{13,16}\\b"]])
    pass_through: bool = False


class AdminConfig(Section):
    """/livez, /readyz and /config, on loopback unless configured."""

    endpoint: Listen = "127.0.0.1:13133"


class LogsConfig(Section):
    """What the collector writes on stderr: JSON, one object a line."""

    level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = "info"


class MetricsConfig(OtlpExporterConfig):
    """Where the metrics of /metrics are sent as well, every ``interval``."""

    interval: Duration = Field(60.0, gt=0)


class TelemetryConfig(Section):
    """The collector's own telemetry, in addition to /metrics. Traces and metrics have the keys of ``exporters.otlp``."""

    logs: LogsConfig = LogsConfig()
    traces: OtlpExporterConfig | None = None
    metrics: MetricsConfig | None = None


class ServiceConfig(Section):
    """The collector as a process."""

    telemetry: TelemetryConfig = TelemetryConfig()


class Config(Section):
    """The whole configuration of ``rightcall run``."""

    receivers: ReceiversConfig = ReceiversConfig()
    rules: list[LocalPath] = []
    traces: TracesConfig = TracesConfig()
    conversations: ConversationsConfig = ConversationsConfig()
    context: ContextConfig = ContextConfig()
    spool: Annotated[SpoolConfig | None, BeforeValidator(_spool)] = Field(SpoolConfig(), json_schema_extra=_also_memory)
    memory_limiter: MemoryLimiterConfig = MemoryLimiterConfig()
    redact: RedactionConfig = RedactionConfig()
    judge: JudgeConfig | None = None
    exporters: ExportersConfig = ExportersConfig()
    admin: AdminConfig = AdminConfig()
    service: ServiceConfig = ServiceConfig()


def load_config(path: Path) -> Config:
    """Read a configuration file; relative paths in it are relative to it. Raises ConfigError with every mistake."""
    document = load_yaml(path, environment())
    try:
        return Config.model_validate(_without_nulls(document.data), context=path.parent)
    except ValidationError as error:
        raise document.error(_mistakes(document, error)) from None


def _without_nulls(data: Any) -> Any:
    """``grpc:`` with nothing after it means its defaults, as in the OpenTelemetry Collector."""
    if isinstance(data, dict):
        return {key: {} if value is None else _without_nulls(value) for key, value in data.items()}
    return data


def _mistakes(document: Document, error: ValidationError) -> list[tuple[Where, str]]:
    mistakes = []
    for item in error.errors():
        where: Where = tuple(item["loc"])
        if item["type"] == "extra_forbidden":
            mistakes.append((where, nearest(str(where[-1]), _known_keys(where[:-1]))))
        else:
            mistakes.append((where, item["msg"].removeprefix("Value error, ")))
    return mistakes


def _known_keys(where: Where) -> list[str]:
    """The keys of the section at ``where``."""
    section: type[BaseModel] = Config
    for name in where:
        kinds = [section.model_fields[str(name)].annotation, *get_args(section.model_fields[str(name)].annotation)]
        section = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
    return list(section.model_fields)
