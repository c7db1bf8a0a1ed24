"""How far a command is: a line on a terminal, and nothing elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from collector.cli import main
from collector.offline.progress import Progress
from tests import otlp_data as data


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_share_amount_and_time_left_and_is_clean_at_the_end() -> None:
    terminal, times = Terminal(), iter([0.0, 0.0, 0.0, 30.0, 30.0, 30.0])
    with Progress(terminal, now=lambda: next(times)) as progress:
        progress.begin("reading", 400 << 20)
        progress.add(50 << 20)
        progress.add(50 << 20)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1] == "reading [........................]   0% 0 of 400 MiB"
    assert shown[-2] == "reading [######..................]  25% 100 of 400 MiB, 1:30 left"
    assert shown[-1] == ""


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_nothing_is_written_where_nobody_looks(stream: io.StringIO | None) -> None:
    with Progress(stream) as progress:
        progress.begin("reading", 1)
        progress.add(1)
    assert stream is None or stream.getvalue() == ""


@pytest.mark.parametrize("command", ["score", "learn", "diff", "compare"])
def test_commands_that_read_recordings_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    (tmp_path / "a.pb").write_bytes(data.traces(data.agent(1)).SerializeToString())
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{name: any, match: {}, expect: {}}]")
    arguments = {"diff": [str(rules), str(rules)], "compare": ["--rules", str(rules), "1", "2"]}.get(command, [])
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    main([command, *arguments, str(tmp_path / "a.pb")])
    assert "scoring [" in terminal.getvalue()
