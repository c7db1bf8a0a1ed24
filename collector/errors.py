"""The exceptions, and whether a retry can help.

    RightcallError
    ├── ConfigError              a configuration or rule file is wrong: shown to its author, exit code 1 or 2
    │   ├── UnreadableError      a file or folder that somebody named cannot be read: exit code 2
    │   └── ListenError          an address of it cannot be listened on
    ├── JudgeError               the judge gave no usable answer; the reason says whether a retry can help
    └── CollectorError           a request was refused; retryable unless a subclass says otherwise
        ├── RefusedError         the collector is at a limit: slow down, then retry
        ├── UnavailableError     the collector is starting or stopping: retry
        ├── TooSlowError         the request did not arrive in time
        └── PermanentError       the same input will always fail: do not retry
            ├── UnauthenticatedError no valid token
            ├── DecodeError      not OTLP
            ├── TooLargeError    beyond a size limit, before or after decompression
            └── UnsupportedError an unknown content type, encoding, method or path

``collector.otlp.status`` maps these to gRPC codes and HTTP statuses.
"""

from __future__ import annotations

from typing import Literal


class RightcallError(Exception):
    """Base of all errors raised deliberately."""


class ConfigError(RightcallError):
    """A configuration or rule file is wrong. The message has a line for each mistake, with file, line and fix."""


class UnreadableError(ConfigError):
    """A configuration, a rule file or a folder of rule files is not there, cannot be read, or has nothing in it."""


class ListenError(ConfigError):
    """Nothing can be received at ``endpoint``: it is in use, or no address of this machine."""

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(f"cannot listen on {endpoint}: {reason}")
        self.endpoint = endpoint


JudgeReason = Literal[
    "timeout", "rate_limited", "server", "connection", "refused", "invalid", "unsupported", "circuit_open"
]


class JudgeError(RightcallError):
    """The judge gave no usable answer. ``reason`` is from a closed set: it becomes a metric label and an ``error.type``.

    timeout, rate_limited, server, connection: a retry may help. refused: no retry will. invalid: the answer does not fit.
    unsupported: send the same request again at once, its schema will be sent in words. circuit_open: nothing was sent.
    ``retry_after`` is the pause in seconds that the endpoint asked for; ``charged`` is false if no tokens were used.
    """

    def __init__(
        self, reason: JudgeReason, message: str, *, retry_after: float | None = None, charged: bool = True
    ) -> None:
        super().__init__(message)
        self.reason, self.retry_after, self.charged = reason, retry_after, charged


class CollectorError(RightcallError):
    """A request was refused. ``reason`` is from a closed set: it becomes a metric label.

    The sender should wait ``retry_after`` seconds before it retries; None if it is to decide itself, or must not retry.
    ``was_read`` says that it is known of which traces the request has spans.
    """

    reason = "internal"
    retry_after: float | None = None
    was_read = False


class RefusedError(CollectorError):
    """The collector is at a limit. The sender should wait and retry."""

    reason = "overload"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnavailableError(CollectorError):
    """The collector is starting or stopping. The sender should retry."""

    reason = "unavailable"
    retry_after = 1.0


class TooSlowError(CollectorError):
    """The request did not arrive in time."""

    reason = "too_slow"


class PermanentError(CollectorError):
    """The same input will always fail. The sender must not retry."""

    reason = "bad_request"


class DecodeError(PermanentError):
    """The bytes are not OTLP."""

    reason = "decode"


class UnauthenticatedError(PermanentError):
    """The sender gave no valid token."""

    reason = "unauthenticated"


class TooLargeError(PermanentError):
    """The request exceeds a size limit, before or after decompression."""

    reason = "too_large"


class UnsupportedError(PermanentError):
    """An unknown content type, encoding, method or path; ``http_status`` is 415, 405 or 404."""

    reason = "unsupported"

    def __init__(self, message: str, http_status: int) -> None:
        super().__init__(message)
        self.http_status = http_status
