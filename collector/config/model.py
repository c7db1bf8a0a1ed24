"""The configuration of the collector: its schema and defaults.

Keys have the names that the OpenTelemetry Collector uses, if it has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    model_validator,
)

from collector.config.drift import DriftConfig
from collector.config.exporters import ExportersConfig, OtlpExporterConfig
from collector.config.fields import Duration, Listen, LocalPath, Section, also, section_or
from collector.config.judge import JudgeConfig
from collector.config.machine import memory_bytes
from collector.config.patterns import checked_glob, checked_pattern
from collector.config.receivers import BearerAuthConfig, ReceiversConfig


def _lower(value: Any) -> Any:
    """Levels may be upper case, as in many examples of the OpenTelemetry Collector."""
    return value.lower() if isinstance(value, str) else value


class TracesConfig(Section):
    """When a trace is considered complete, and how much of it is kept until then.

    ``settle`` is the time without new spans after which a trace that looks complete is released, ``idle_timeout`` the time
    after which any trace is. Batch processors of SDKs delay spans up to 5 s, so ``idle_timeout`` must be longer than that, and
    than the longest request to a model or call of a tool, during which an agent may send nothing.
    """

    settle: Duration = 2.0
    confirm: Duration = Field(6.0, description="quiet time after which a fail is given that a late span could change")
    idle_timeout: Duration = Field(30.0, description="quiet time after which any trace is released")
    max_duration: Duration = Field(600.0, description="age at which any trace is released")
    max_open: int = Field(100_000, ge=1, description="traces; the one quiet longest is released beyond it")
    max_spans: int = Field(10_000, ge=1, description="GenAI spans kept per trace")
    max_held_mib: int = Field(512, ge=1, description="size of all open traces, and of results that wait for a judge")
    remember: int = Field(10_000, ge=0, description="finished traces kept to recognize late and duplicate spans")


class ConversationsConfig(Section):
    """When a conversation is considered over, for rules of scope ``conversation``, and how much of it is kept until then.

    ``idle_timeout`` is the time since its last run; it should be longer than the pauses of users and the runs of agents.
    If a limit is exceeded, the conversation idle the longest is scored as it is, labelled incomplete.
    """

    idle_timeout: Duration = Field(300.0, description="quiet time after which a conversation is scored")
    max_duration: Duration = Field(86_400.0, description="a longer conversation is scored then, labelled incomplete")
    max_open: int = Field(10_000, ge=1, description="conversations; the one quiet longest is scored beyond it")
    max_runs: int = Field(100, ge=1, description="runs kept per conversation")
    max_calls: int = Field(1_000, ge=1, description="tool calls kept per conversation")
    max_held_mib: int = Field(64, ge=1, description="size of the runs of all conversations")
    remember: int = Field(1_000, ge=0, description="scored conversations kept so that their verdict can be revised")


class ContextConfig(Section):
    """The span attributes that contain route and intent; the first one present is used."""

    route: list[str] = ["rightcall.route", "http.route"]
    intent: list[str] = ["rightcall.intent", "gen_ai.workflow.name"]
    clock_skew: Duration = Field(0.01, description="starts on two hosts that are closer than this have no order")

    @property
    def skew_ns(self) -> int:
        """``clock_skew`` in nanoseconds, as the times of spans are."""
        return round(self.clock_skew * 1e9)


class SpoolConfig(Section):
    """Stores acknowledged telemetry on disk until it is delivered, so that a crash does not lose it.

    With ``fsync`` it also survives a power failure; without, only the end of the process.
    """

    path: LocalPath = Field(
        Path("/var/lib/rightcall"), description="a folder for this collector only; created if missing"
    )
    max_size_mib: int = Field(1024, ge=16, description="above it senders are asked to slow down")
    fsync: bool = True


class RunsConfig(Section):
    """The scored runs that the console and ``explain --collector`` show. Wrong and undecided ones are kept the longest.

    All are counted; where there are many, a fair sample is stored. A store in memory takes at most 32 MiB.
    """

    path: LocalPath | None = Field(None, description="a folder; by default that of the spool, else runs are in memory")
    max_size_mib: int = Field(256, ge=8, description="beyond it the oldest runs go, those that passed first")
    keep: Duration = Field(604_800.0, gt=0, description="age at which a run is deleted")


def _http_url(value: str) -> str:
    if not value.startswith(("http://", "https://")) or any(map(str.isspace, value)):
        raise ValueError(f"{value!r} is not a URL such as https://rightcall.example.com")
    return value


Url = Annotated[str, AfterValidator(_http_url)]


class ConsoleConfig(Section):
    """The pages at /console of the admin listener. Off loopback they need ``admin.auth``. ``{trace_id}`` is filled in."""

    enabled: bool = True
    public_url: Url | None = Field(None, description="where people reach the console, for links in events")
    trace_url: Url | None = Field(None, examples=["https://tempo.example.com/trace/{trace_id}"])
    log_url: Url | None = Field(None, examples=["https://loki.example.com/explore?q={trace_id}"])


def _four_fifths() -> int:
    return max(64, (memory_bytes() >> 20) * 4 // 5)


class MemoryLimiterConfig(Section):
    """Above ``limit_mib - spike_limit_mib`` senders are asked to slow down; above ``limit_mib`` open traces are evicted.

    All that is kept in memory has a share of ``limit_mib``: see "Memory" in the README of the collector.
    """

    limit_mib: int = Field(
        default_factory=_four_fifths,
        ge=64,
        description="resident memory of the process; by default four fifths of the limit of its cgroup, or of the machine",
    )
    spike_limit_mib: int | None = Field(None, ge=1, description="a fifth of limit_mib by default")
    check_interval: Duration = 0.05

    def spike(self) -> int:
        """Returns the difference between hard and soft limit, in MiB."""
        return self.limit_mib // 5 if self.spike_limit_mib is None else self.spike_limit_mib

    @model_validator(mode="after")
    def _below(self) -> MemoryLimiterConfig:
        if self.spike() >= self.limit_mib:
            raise ValueError("spike_limit_mib must be below limit_mib")
        return self


class RedactionConfig(Section):
    """What is redacted in evaluation events, and in spans and log records of agents, before export, but not for scoring.

    The values of attributes whose names match a glob are replaced; in all other strings, whatever matches a pattern. Resources,
    scopes, the names of spans and attributes, and trace state stay as they are. With ``pass_through`` all other spans and log
    records are redacted too, at the cost of parsing each of them.
    """

    attributes: list[Annotated[str, AfterValidator(checked_glob)]] = Field(
        [], examples=[["gen_ai.tool.call.arguments", "gen_ai.*.messages"]]
    )
    patterns: list[Annotated[str, AfterValidator(checked_pattern)]] = Field([], examples=[["\\b[0-9]{13,16}\\b"]])
    pass_through: bool = False


class ExplainConfig(Section):
    """The texts that say why a run is not a pass, in the bodies of evaluation events."""

    values: bool = Field(
        False,
        description="quote values of arguments, shortened: of no run whose arguments are in attributes that `redact` hides, and"
        " of none at all if that has patterns",
    )


class AdminConfig(Section):
    """/livez, /readyz and /config, on loopback unless configured; with /console and /runs, which ``auth`` protects.

    Browsers send the token as password, under any user name.
    """

    endpoint: Listen = "127.0.0.1:13133"
    auth: BearerAuthConfig | None = None
    allowed_hosts: list[str] = Field(
        ["*.svc", "*.svc.cluster.local"],
        description="Host headers that are answered besides IP addresses and names without a dot; probes always are",
    )


class LogsConfig(Section):
    """The log on stderr: one JSON object per line."""

    level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = "info"


class MetricsConfig(OtlpExporterConfig):
    """A backend to which the metrics of /metrics are also pushed, every ``interval``."""

    interval: Duration = Field(60.0, gt=0)


class TelemetryConfig(Section):
    """The collector's own telemetry, in addition to /metrics. Traces and metrics have the keys of ``exporters.otlp``."""

    logs: LogsConfig = LogsConfig()
    traces: OtlpExporterConfig | None = None
    metrics: MetricsConfig | None = None


class ServiceConfig(Section):
    """The process."""

    telemetry: TelemetryConfig = TelemetryConfig()
    handover: OtlpExporterConfig | None = Field(
        None, description="where open traces go when the process stops: the balancer that routes by trace id"
    )


_SPOOL: Final = section_or("memory", SpoolConfig, "a spool", "{path: FOLDER}")
_RUNS: Final = section_or("off", RunsConfig, "a store of runs", "{path: FOLDER}")
_DRIFT: Final = section_or("off", DriftConfig, "a setting of drift", "{baseline: 168h}")


class Config(Section):
    """The whole configuration of ``rightcall run``."""

    receivers: ReceiversConfig = ReceiversConfig()
    rules: list[LocalPath] = []
    traces: TracesConfig = TracesConfig()
    conversations: ConversationsConfig = ConversationsConfig()
    context: ContextConfig = ContextConfig()
    spool: Annotated[SpoolConfig | None, _SPOOL] = Field(SpoolConfig(), json_schema_extra=also("memory"))
    runs: Annotated[RunsConfig | None, _RUNS] = Field(RunsConfig(), json_schema_extra=also("off", False))
    drift: Annotated[DriftConfig | None, _DRIFT] = Field(DriftConfig(), json_schema_extra=also("off", False))
    memory_limiter: MemoryLimiterConfig = Field(default_factory=MemoryLimiterConfig)
    redact: RedactionConfig = RedactionConfig()
    explain: ExplainConfig = ExplainConfig()
    judge: JudgeConfig | None = None
    exporters: ExportersConfig = ExportersConfig()
    admin: AdminConfig = AdminConfig()
    console: ConsoleConfig = ConsoleConfig()
    service: ServiceConfig = ServiceConfig()

    @model_validator(mode="before")
    @classmethod
    def _the_topic_is_the_spool(cls, data: Any) -> Any:
        """With ``receivers.kafka`` the default of ``spool`` is ``memory``."""
        receivers = data.get("receivers") if isinstance(data, dict) else None
        reads = isinstance(receivers, dict) and receivers.get("kafka") is not None
        return {**data, "spool": "memory"} if reads and "spool" not in data else data

    @model_validator(mode="after")
    def _fits_kafka(self) -> Config:
        source, target = self.receivers.kafka, self.exporters.kafka
        if source is None:
            return self
        if self.service.handover is not None:
            raise ValueError("service.handover has no use with receivers.kafka: whoever reads on has the open traces")
        if self.spool is not None:
            raise ValueError("receivers.kafka needs `spool: memory`: the topic keeps what is not finished")
        if target is not None and target.traces is not None and target.traces.topic == source.traces.topic:
            raise ValueError(
                f"exporters.kafka.traces.topic is the topic {source.traces.topic} that receivers.kafka reads"
            )
        return self
