"""The demo as a user runs it, for a few seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

DEMO = [sys.executable, "-m", "collector", "demo"]
BEHIND_A_PROXY = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")  # nobody listens there


def test_it_scores_runs_and_prints_the_address_of_the_metrics() -> None:
    env = {key: value for key, value in os.environ.items() if key.lower() != "no_proxy"} | BEHIND_A_PROXY
    done = subprocess.run([*DEMO, "--seconds", "5"], capture_output=True, text=True, timeout=60, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "/metrics" in done.stdout
    assert "console: http://127.0.0.1:" in done.stdout
    assert "Tool-call accuracy" in done.stdout
    assert "%" in done.stdout
    assert " by rule " in done.stdout.partition("Tool-call accuracy")[0], "a line for each run, as they come"


def test_ctrl_c_stops_it_and_prints_the_scoreboard() -> None:
    with subprocess.Popen(
        [*DEMO, "--seconds", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert "/console" in running.stdout.readline()  # it runs
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    assert "Tool-call accuracy" in out


def test_it_ends_well_where_its_reader_is_done() -> None:
    with subprocess.Popen(
        [*DEMO, "--seconds", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert "/console" in running.stdout.readline()
        running.stdout.close()
        err = running.stderr.read()
    assert (running.returncode, err) == (0, "")
