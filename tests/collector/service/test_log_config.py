"""What is logged: one line of JSON for each record, whatever it quotes."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

from hypothesis import given

from collector.service.log_config import OPERATOR, JsonFormatter, RepeatLimit
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


def test_what_an_exception_quotes_is_shortened() -> None:
    try:
        raise ValueError("x" * 1_000_000)
    except ValueError as error:
        caught = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("collector", logging.ERROR, "file.py", 1, "cannot read %s", ("y" * 1_000_000,), caught)
    assert len(JsonFormatter().format(record)) < 40_000


def passed(limit: RepeatLimit, line: int, seconds: float, about: str = "") -> str:
    """What is logged of a record of the statement at ``line``: "" for nothing."""
    record = logging.LogRecord("collector", logging.ERROR, "file.py", line, "trace %d%%", (7,), None)
    record.created = 1000.0 + seconds
    record.__dict__.update({"about": about} if about else {})
    return record.getMessage() if limit.filter(record) else ""


def test_one_statement_logs_three_lines_in_ten_seconds_and_how_many_more_there_were() -> None:
    limit = RepeatLimit()
    assert [passed(limit, 1, 0.1 * number) for number in range(50)] == ["trace 7%"] * 3 + [""] * 47
    assert passed(limit, 2, 5.0) == "trace 7%", "another statement"
    assert passed(limit, 1, 10.0) == "trace 7%; 47 more since the last such line"
    assert passed(limit, 1, 10.1) == "trace 7%"
    assert passed(limit, 1, 30.0) == "trace 7%"


def test_what_is_about_something_else_is_counted_apart() -> None:
    limit = RepeatLimit()
    assert [passed(limit, 1, 0.1 * number, "traces") for number in range(5)] == ["trace 7%"] * 3 + [""] * 2
    assert passed(limit, 1, 0.6, "logs") == "trace 7%"
    assert passed(limit, 1, 10.0, "traces") == "trace 7%; 2 more since the last such line"


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    limit = RepeatLimit()
    assert [passed(limit, 1, 0.1 * number) for number in range(5)] == ["trace 7%"] * 3 + [""] * 2
    assert passed(limit, 1, -3600.0) == "trace 7%; 2 more since the last such line"
    assert [passed(limit, 1, -3600.0 + number) for number in range(1, 4)] == ["trace 7%"] * 2 + [""]


def test_the_process_limits_what_senders_can_make_it_log() -> None:
    code = """
import logging
from collector.service.log_config import configure_logging
configure_logging("info")
for number in range(1000):
    logging.getLogger("asyncio").error("broken by sender %d", number)
"""
    logged = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60).stderr
    assert [json.loads(line)["message"] for line in logged.splitlines()] == [
        f"broken by sender {at}" for at in range(3)
    ]


def test_what_an_operator_did_is_always_told() -> None:
    limit = RepeatLimit()
    records = [logging.LogRecord("collector", logging.ERROR, "file.py", 1, "refused", (), None) for _ in range(9)]
    for record in records:
        record.__dict__.update(OPERATOR)
    assert all(limit.filter(record) for record in records)
