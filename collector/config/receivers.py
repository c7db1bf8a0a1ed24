"""The configuration of the receivers, and of the TLS and the tokens of every listener."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from collector.config.fields import Duration, Listen, LocalPath, Secret, Section
from collector.config.kafka import KafkaReceiverConfig


class ServerTlsConfig(Section):
    """TLS of a listener. With ``client_ca_file`` clients must present a certificate signed by it (mutual TLS)."""

    cert_file: LocalPath
    key_file: LocalPath
    client_ca_file: LocalPath | None = None
    reload_interval: Duration = 30.0


class BearerAuthConfig(Section):
    """The tokens accepted in ``authorization: Bearer ...``. The file has one token per line, so that tokens can be rotated."""

    bearer_token: Secret | None = None
    bearer_token_file: LocalPath | None = None
    reload_interval: Duration = 30.0

    @model_validator(mode="after")
    def _exactly_one(self) -> BearerAuthConfig:
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
    max_recv_msg_size_mib: int = Field(64, ge=1, le=1024, description="per message, decompressed")
    max_concurrent_streams: int = Field(256, ge=1, description="calls at once, per connection")
    max_connections: int = Field(1024, ge=1, description="further ones are closed")
    read_timeout: Duration = Field(30.0, description="until a message has arrived")


class HttpServerConfig(Section):
    """OTLP/HTTP listener. ``max_request_body_size_mib`` applies before and after decompression."""

    endpoint: Listen = "127.0.0.1:4318"
    tls: ServerTlsConfig | None = None
    auth: BearerAuthConfig | None = None
    max_request_body_size_mib: int = Field(64, ge=1, le=1024, description="per body, as sent and decompressed")
    read_header_timeout: Duration = Field(10.0, description="for a TLS handshake, a head, the rest of an answered body")
    read_timeout: Duration = Field(30.0, description="until a body has arrived")
    max_connections: int = Field(1024, ge=1, description="with TLS handshakes in progress; further ones are closed")


class ProtocolsConfig(Section):
    """The OTLP listeners to start; ``grpc:`` alone uses the defaults."""

    grpc: GrpcServerConfig | None = None
    http: HttpServerConfig | None = None


class OtlpReceiverConfig(Section):
    """The OTLP receiver."""

    protocols: ProtocolsConfig = ProtocolsConfig(grpc=GrpcServerConfig(), http=HttpServerConfig())


class ReceiversConfig(Section):
    """The receivers of telemetry. With ``kafka`` there is no OTLP listener unless ``otlp`` is named too."""

    otlp: OtlpReceiverConfig = OtlpReceiverConfig()
    kafka: KafkaReceiverConfig | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_or_both(cls, data: Any) -> Any:
        reads = isinstance(data, dict) and data.get("kafka") is not None
        # The default would open listeners that nobody asked for, on ports that may be taken.
        return {**data, "otlp": {"protocols": {}}} if reads and "otlp" not in data else data
