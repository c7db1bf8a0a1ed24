"""What the Kafka receiver and exporter have in common: librdkafka, if it is installed, and the log of its errors."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from collector.errors import ConfigError

_log = logging.getLogger(__name__)


def import_kafka(place: str) -> Any:
    """Returns the client library. Raises ConfigError, naming ``place``, if its extra is not installed."""
    try:
        return importlib.import_module("confluent_kafka")
    except ImportError:
        raise ConfigError(f"`{place}:` needs the extra kafka: pip install 'rightcall[kafka]'") from None


def client_errors(place: str) -> Callable[[Any], None]:
    """Returns what logs the errors of a client's connections: each kind when it comes anew, not at every attempt."""
    last: list[str] = [""]

    def log(error: Any) -> None:
        if error.name() != last[0]:
            last[0] = error.name()
            _log.warning("%s: %s: %s", place, error.name(), error.str())

    return log
