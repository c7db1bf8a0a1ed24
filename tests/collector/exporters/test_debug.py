"""What is exported, in the log: as much as is asked for, and no more of a large request than anyone reads."""

from __future__ import annotations

import asyncio
import logging

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.component import ExportRequest, Signal
from collector.config.exporters import DebugExporterConfig
from collector.delivery.queued_exporter import DeliveryError
from collector.exporters.debug import DebugTransport
from tests import otlp_data as data

RUN = data.traces(data.tool(2, 1, "get_weather"), data.agent(1)).SerializeToString()


def said(caplog: pytest.LogCaptureFixture, verbosity: str, payload: bytes, signal: Signal = "traces") -> list[str]:
    caplog.set_level(logging.INFO)
    transport = DebugTransport(DebugExporterConfig.model_validate({"verbosity": verbosity}))
    asyncio.run(transport.send(ExportRequest(signal, payload, 0)))
    return [record.message for record in caplog.records]


def test_basic_says_how_much(caplog: pytest.LogCaptureFixture) -> None:
    assert said(caplog, "basic", RUN) == [f"traces: 2 items, {len(RUN)} bytes"]


def test_normal_has_a_line_for_each_item(caplog: pytest.LogCaptureFixture) -> None:
    _, tool, agent = said(caplog, "normal", RUN)
    assert tool.startswith(f"execute_tool get_weather {data.TRACE.hex()} {data.span_id(2).hex()} ")
    assert "gen_ai.tool.name=get_weather" in tool
    assert "gen_ai.agent.name=helper" in agent


def test_detailed_has_all_of_it(caplog: pytest.LogCaptureFixture) -> None:
    record = LogRecord(event_name="gen_ai.evaluation.result", severity_text="INFO\x1b[31m")
    _, line = said(caplog, "detailed", data.logs(record).SerializeToString(), "logs")
    assert line.startswith('{"resourceLogs":[{')
    assert "\x1b" not in line


def test_a_large_request_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    many = data.traces(*[data.span(number) for number in range(1, 301)]).SerializeToString()
    assert said(caplog, "normal", many)[-1] == "... and 200 more"
    caplog.clear()
    assert len(said(caplog, "detailed", many)[-1]) < 10_100


def test_what_is_no_request_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DeliveryError):
        said(caplog, "detailed", b"\xff" * 9)
