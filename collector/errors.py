"""What can go wrong, and whether trying again can help.

    RightcallError
    ├── ConfigError              a configuration or rule file is wrong: shown to its author, exit code 1 or 2
    ├── JudgeError               a judge gave no answer; its reason says whether asking again can help
    └── CollectorError           a request was not taken; retryable unless a subclass says otherwise
        ├── RefusedError         we are full: slow down, then retry
        ├── UnavailableError     we are starting or stopping: retry
        ├── TooSlowError         the request did not arrive in time
        └── PermanentError       the same input will always fail: do not retry
            ├── UnauthenticatedError no token, or a wrong one
            ├── DecodeError      not OTLP
            ├── TooLargeError    beyond a size limit, before or after decompression
            └── UnsupportedError a content type, encoding, method or path we do not speak

``collector.otlp.status`` is the one table that turns these into gRPC codes and HTTP statuses.
"""

from __future__ import annotations

from typing import Literal


class RightcallError(Exception):
    """Root of all errors raised on purpose."""


class ConfigError(RightcallError):
    """A configuration or rule file is wrong. The message names file, line and fix; one line a mistake."""


JudgeReason = Literal[
    "timeout", "rate_limited", "server", "connection", "refused", "invalid", "unsupported", "circuit_open"
]


class JudgeError(RightcallError):
    """A judge gave no usable answer. ``reason`` is from a closed set: it becomes a metric label and an ``error.type``.

    timeout, rate_limited, server, connection: asking again may help. refused: it never will. invalid: it answered
    something else. unsupported: ask the same at once, it will be put another way. circuit_open: nobody was asked.
    ``retry_after`` is what the judge asked for, in seconds; ``charged`` whether the model may have worked for it.
    """

    def __init__(
        self, reason: JudgeReason, message: str, *, retry_after: float | None = None, charged: bool = True
    ) -> None:
        super().__init__(message)
        self.reason, self.retry_after, self.charged = reason, retry_after, charged


class CollectorError(RightcallError):
    """A request was not taken. ``reason`` is from a closed set: it becomes a metric label."""

    reason = "internal"


class RefusedError(CollectorError):
    """We are full. The sender should wait ``retry_after`` seconds and try again."""

    reason = "overload"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnavailableError(CollectorError):
    """We are starting or stopping. The sender should try again."""

    reason = "unavailable"


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
    """The sender did not show a token we know."""

    reason = "unauthenticated"


class TooLargeError(PermanentError):
    """The request is beyond a size limit, before or after decompression."""

    reason = "too_large"


class UnsupportedError(PermanentError):
    """A content type, encoding, method or path we do not take; ``http_status`` says which (404, 405, 415)."""

    reason = "unsupported"

    def __init__(self, message: str, http_status: int) -> None:
        super().__init__(message)
        self.http_status = http_status
