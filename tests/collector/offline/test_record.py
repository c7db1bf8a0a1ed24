"""``rightcall record``: real SDKs in real processes, with whatever their environment already says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli import main
from collector.offline.record import sdk_environment
from collector.receivers.otlp_file import read_file
from tests import otlp_data as data
from tests.waiting import PATIENCE, wait_for

AGENT = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.{kind}.trace_exporter import OTLPSpanExporter

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("agents").start_as_current_span(
    "invoke_agent helper", attributes={{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}}
):
    pass
provider.shutdown()
print("its own output")
sys.exit(int(sys.argv[1]))
"""


def recorded(folder: Path, kind: str, code: str = "0", **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "agent.py").write_text(AGENT.format(kind=kind))
    command = [sys.executable, "-m", "collector", "record", "-o", "out", "--", sys.executable, "agent.py", code]
    variables = {**os.environ, "PYTHONPATH": os.getcwd(), **environment}
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize(("kind", "protocol"), [("http", ""), ("grpc", "grpc")])
def test_what_a_command_sends_is_kept_and_can_be_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, protocol: str
) -> None:
    elsewhere = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://192.0.2.1:4318", "OTEL_SDK_DISABLED": "true"}
    done = recorded(tmp_path, kind, **elsewhere, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
    assert (done.returncode, done.stdout) == (0, "its own output\n"), done.stderr
    assert "recorded 1 agent run with 0 tool calls in out/" in done.stderr
    assert "rightcall score --rules rules/ out" in done.stderr
    (file,) = (tmp_path / "out").iterdir()
    assert [signal for signal, body in read_file(file) if data.all_spans(body)] == ["traces"]
    main(["score", str(tmp_path / "out")])
    assert "helper" in capsys.readouterr().out


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    assert recorded(tmp_path, "http", "3").returncode == 3


def test_nothing_recorded_is_said_with_what_to_look_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "-o", str(tmp_path / "out"), "--", "true"]) == 1
    said = capsys.readouterr().err
    assert "no telemetry came" in said
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in said
    assert list((tmp_path / "out").iterdir()) == []


def test_requests_without_anything_in_them_are_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    send = """
import os, urllib.request
url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
headers = {"Content-Type": "application/x-protobuf"}
assert urllib.request.urlopen(urllib.request.Request(url, b"", headers)).status == 200
"""
    assert main(["record", "-o", str(tmp_path / "out"), "--", sys.executable, "-c", send]) == 1
    assert "no telemetry came" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"), [(["--", "no-such-command"], "No such file"), (["--"], "name the command after --")]
)
def test_no_command_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["record", "-o", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["record", "-o", str(tmp_path / "file" / "traces"), "--", "true"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{tmp_path}/file/traces/")
    assert said.endswith(": cannot be written: Not a directory\n")


def test_sigterm_ends_the_command_and_keeps_what_came(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "collector", "record", "-o", str(tmp_path), "--", "sh", "-c", "echo up; sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: process.poll() is not None)
        assert process.returncode == 128 + signal.SIGTERM


def test_what_the_user_says_about_content_stays() -> None:
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    assert sdk_environment({name: "SPAN_ONLY"}, 1, 2)[name] == "SPAN_ONLY"
    assert sdk_environment({}, 1, 2)[name] == "true"
    assert sdk_environment({"NO_PROXY": "a"}, 1, 2)["NO_PROXY"] == "a,127.0.0.1"
