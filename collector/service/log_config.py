"""How the process logs: JSON on stderr, with few of the lines that untrusted senders could trigger at will."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Final

from scorers.quoting import json_line

_MOST, _INTERVAL = 3, 10.0  # records of one log statement, and in how many seconds
_MAX_CHARACTERS = 16_384  # of a message and of a traceback: an exception may quote what was received

OPERATOR: Final = {"is_of_operator": True}
"""The ``extra`` of a record about what an operator did, such as a change of the rules: each may say something else."""


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, whatever it quotes."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, without its end."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_MAX_CHARACTERS],
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)[-_MAX_CHARACTERS:]  # what it was is at its end
        return json_line(line)


class RepeatLimit(logging.Filter):
    """Passes three records of one log statement every 10 s. The first after that says how many more there were.

    Records whose ``extra`` says what they are ``about`` are counted by that, too: a backend that fails all the time must not
    hide that another does. It may take few values. ``OPERATOR`` as ``extra`` passes all: no sender can bring these about.
    """

    def __init__(self) -> None:
        super().__init__()
        # Since when, and how many, by log statement and what it is about.
        self._passed: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log the record; may add the count to its message."""
        if getattr(record, "is_of_operator", False):
            return True
        statement = record.pathname, record.lineno, getattr(record, "about", "")
        since, count = self._passed.get(statement, (record.created, 0))
        if 0.0 <= record.created - since < _INTERVAL:  # below 0 the clock was set back, maybe by hours
            self._passed[statement] = since, count + 1
            return count < _MOST
        self._passed[statement] = record.created, 1
        # The text is made now: the arguments belong to the message as it was, without the count.
        if count > _MOST:
            record.msg, record.args = f"{record.getMessage()}; {count - _MOST} more since the last such line", ()
        return True


def configure_logging(level: str) -> None:
    """Log one JSON object per line on stderr, from ``level`` up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepeatLimit())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # below, it logs each invalid request
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)  # below, they log each request
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_client_disconnect)
    warnings.simplefilter("ignore", SyntaxWarning)  # from parsing senders' texts as Python literals


def _is_no_client_disconnect(record: logging.LogRecord) -> bool:
    """gRPC logs a traceback for each sender that disconnects before it is answered."""
    return "ExecuteBatchError" not in str(record.msg)
