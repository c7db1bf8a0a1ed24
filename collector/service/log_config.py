"""How the process logs: JSON on stderr, without the lines of libraries that untrusted senders could trigger at will."""

from __future__ import annotations

import logging
import sys
import warnings

from scorers.quoting import json_line


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, whatever it quotes."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, without its end."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json_line(line)


def configure_logging(level: str = "info") -> None:
    """Log one JSON object per line on stderr, from ``level`` up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # below, it logs each invalid request
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)  # below, they log each request
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_client_disconnect)
    warnings.simplefilter("ignore", SyntaxWarning)  # from parsing senders' texts as Python literals


def _is_no_client_disconnect(record: logging.LogRecord) -> bool:
    """gRPC logs a traceback for each sender that disconnects before it is answered."""
    return "ExecuteBatchError" not in str(record.msg)
