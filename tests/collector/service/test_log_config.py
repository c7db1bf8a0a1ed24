"""What is logged: one line of JSON for each record, whatever it quotes."""

from __future__ import annotations

import json
import logging

from hypothesis import given

from collector.service.log_config import JsonFormatter
from tests.strategies import hostile_text


@given(hostile_text)
def test_a_line_is_json_and_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError as error:
        caught = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("collector", logging.ERROR, "file.py", 1, "cannot read %s", (text,), caught)
    line = JsonFormatter().format(record)
    assert line.encode()
    assert line.replace("\u00a0", "").translate({ord(one): "" for one in text if one.isspace()}).isprintable()
    said = json.loads(line)
    assert said["message"].startswith("cannot read ")
    assert "ValueError" in said["exception"]
