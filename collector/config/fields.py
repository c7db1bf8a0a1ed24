"""The building blocks of the configuration: durations, paths, TLS, retries, and sections that reject unknown keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(ms|s|m|h)")


def _seconds(value: Any) -> Any:
    """Parse Go-style durations such as "500ms", "2s" and "1m30s"; a plain number is in seconds."""
    if not isinstance(value, str):
        return value
    parts = _DURATION.findall(value)
    # Compared with the whole, since `findall` skips over what is no duration.
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError(f"{value!r} is not a duration such as 500ms, 2s, 10m or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


Duration = Annotated[
    float,
    BeforeValidator(_seconds),
    PlainSerializer(lambda seconds: f"{seconds:g}s", return_type=str),
    Field(ge=0, allow_inf_nan=False),
    WithJsonSchema(
        {
            "type": ["string", "number"],
            "minimum": 0,
            "pattern": f"^({_DURATION.pattern})+$",
            "examples": ["500ms", "2s", "10m"],
        }
    ),
]


def _host_port(value: Any) -> Any:
    host, colon, port = str(value).rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ValueError(f"{value!r} is not host:port, such as 0.0.0.0:4317, with a port up to 65535")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"{value!r}: write an IPv6 address in brackets, such as [::1]:4317")
    return f"{host or '0.0.0.0'}:{port}"  # noqa: S104 - ":4317" means all addresses, as in the Collector


Listen = Annotated[str, BeforeValidator(_host_port)]


def _without_line_break(secret: SecretStr) -> SecretStr:
    return SecretStr(secret.get_secret_value().rstrip("\r\n"))


Secret = Annotated[SecretStr, AfterValidator(_without_line_break)]
"""A token, key or password; where it was read from a file, as a Secret often is, it may end with a line break."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HEADER_VALUE = re.compile(r"[ -~]*")


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    """Check here what gRPC and HTTP would refuse with each request, and with the value in the error, which may be a token."""
    stripped = {name: value.strip() for name, value in headers.items()}
    for name, value in stripped.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header: use letters, digits, -, _ and .")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of {name} has a line break or another character that no header may have")
    return stripped


Headers = Annotated[dict[str, str], AfterValidator(_sendable)]
"""What is sent with each request, by name; like a `Secret`, a value may end with a line break."""


class Section(BaseModel):
    """A section of the configuration. Unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _resolved(path: Path, info: ValidationInfo) -> Path:
    """Resolve relative paths against the folder of the configuration file."""
    return info.context / path if info.context else path


LocalPath = Annotated[Path, AfterValidator(_resolved)]


class TlsConfig(Section):
    """Client TLS. ``insecure`` disables it; ``cert_file`` and ``key_file`` are the client certificate, for mutual TLS."""

    insecure: bool = False
    ca_file: LocalPath | None = None
    cert_file: LocalPath | None = None
    key_file: LocalPath | None = None
    reload_interval: Duration = 30.0

    @model_validator(mode="after")
    def _pair(self) -> TlsConfig:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("set both cert_file and key_file, or neither")
        return self


class RetryConfig(Section):
    """Exponential backoff with jitter: doubles from ``initial_interval`` to ``max_interval``."""

    enabled: bool = True
    initial_interval: Duration = 1.0
    max_interval: Duration = 30.0
    max_elapsed_time: Duration | None = Field(
        None, description="0 retries forever; the default is 5m in memory, forever with a spool"
    )


def section_or(word: str, section: type[Section], what: str, example: str) -> BeforeValidator:
    """Accepts ``word`` in place of ``section``, which is None then. Raises ValueError with an example for anything else."""

    def read(value: Any) -> Any:
        if value == word or (word == "off" and value is False):  # YAML reads off as false
            return None
        if not isinstance(value, (dict, section)):
            raise ValueError(f"{value!r} is not {what}: use {word} or {example}")
        return value

    return BeforeValidator(read)


def also(*words: str | bool) -> Callable[[dict[str, Any]], None]:
    """Returns what puts ``words`` in the place of null in the JSON schema of an optional section."""

    def change(schema: dict[str, Any]) -> None:
        schema["anyOf"] = [{"enum": list(words)}, *(kind for kind in schema["anyOf"] if kind.get("type") != "null")]

    return change
