"""How a Kafka cluster is reached, for ``receivers.kafka`` and ``exporters.kafka``, and which topic is read.

The keys are those of the OpenTelemetry Collector; what has none here may be set under librdkafka's own name in ``properties``.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, field_validator

from collector.config.fields import Secret, Section, TlsConfig

Encoding = Literal["otlp_proto", "otlp_json"]

_OURS: Final = frozenset({
    "auto.offset.reset", "bootstrap.servers", "client.id", "enable.auto.commit", "enable.auto.offset.store",
    "enable.idempotence", "group.id", "partition.assignment.strategy", "security.protocol", "sasl.mechanism",
    "sasl.mechanisms", "sasl.username", "sasl.password", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location",
})  # fmt: skip
"""What other keys set, or the guarantees depend on."""
_MAX_FETCHED: Final = 16 << 20  # bytes that a consumer fetches ahead


class SaslConfig(Section):
    """A user name and password."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: str = Field(min_length=1)
    password: Secret


class KafkaAuthConfig(Section):
    """How this client authenticates."""

    sasl: SaslConfig


class KafkaTopic(Section):
    """A topic, and how requests are encoded in it."""

    topic: str = Field(min_length=1, max_length=249, pattern=r"^[A-Za-z0-9._-]+$")
    encoding: Encoding = "otlp_proto"


class KafkaClientConfig(Section):
    """A cluster. Without ``tls`` the connection is plain text; ``tls: {}`` trusts the authorities of the system."""

    brokers: list[str] = Field(min_length=1, examples=[["kafka:9092"]])
    client_id: str = "rightcall"
    tls: TlsConfig | None = None
    auth: KafkaAuthConfig | None = None
    properties: dict[str, str | int | bool] = Field(
        {}, description="further settings of librdkafka", examples=[{"session.timeout.ms": 30000}]
    )

    @field_validator("properties")
    @classmethod
    def _are_free(cls, value: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
        if taken := sorted(_OURS & value.keys()):
            raise ValueError(
                f"{', '.join(taken)} cannot be set here: other keys do, or what is delivered depends on it"
            )
        return value

    def librdkafka(self) -> dict[str, str | int | bool]:
        """Returns the settings of a client of librdkafka, secrets among them."""
        tls = self.tls if self.tls is not None and not self.tls.insecure else None
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": ",".join(self.brokers),
            "client.id": self.client_id,
            "security.protocol": ("sasl_" if self.auth else "") + ("ssl" if tls else "plaintext"),
            # Its errors are logged by us. Its own lines are in another format, and hundreds while no broker answers.
            "log_level": 2,
            # Before TLS and SASL: what has a key here is set by that key.
            **self.properties,
        }
        if tls is not None:
            files = {"ca": tls.ca_file, "certificate": tls.cert_file, "key": tls.key_file}
            settings |= {f"ssl.{name}.location": str(path) for name, path in files.items() if path is not None}
        if self.auth is not None:
            sasl = self.auth.sasl
            settings |= {"sasl.mechanism": sasl.mechanism, "sasl.username": sasl.username}
            settings["sasl.password"] = sasl.password.get_secret_value()
        return settings


class KafkaReceiverConfig(KafkaClientConfig):
    """Reads traces from a topic that is keyed by trace id, as one of a consumer group.

    ``initial_offset`` is where a partition is begun for which the group has no offset.
    """

    group_id: str = Field("rightcall", min_length=1)
    initial_offset: Literal["earliest", "latest"] = "earliest"
    traces: KafkaTopic = KafkaTopic(topic="otlp_spans")
    dead_letter_topic: str | None = Field(
        None, description="for messages that are not OTLP; without it they are counted"
    )

    def consumer(self) -> dict[str, Any]:
        """Returns the settings of a consumer of librdkafka, secrets among them."""
        settings: dict[str, Any] = {
            "fetch.max.bytes": _MAX_FETCHED,
            "queued.max.messages.kbytes": _MAX_FETCHED >> 10,
            # By default nothing is fetched for a second when all of that is held, and it is taken in less.
            "fetch.queue.backoff.ms": 10,
            **self.librdkafka(),
            "group.id": self.group_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # else it goes on elsewhere without a word
        }
        # Cooperative: partitions that stay are not revoked, so their open traces are kept.
        # In the newer protocol the brokers assign, and librdkafka refuses the setting.
        if settings.get("group.protocol") != "consumer":
            settings["partition.assignment.strategy"] = "cooperative-sticky"
        return settings
