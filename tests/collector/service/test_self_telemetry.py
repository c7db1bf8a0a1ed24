"""The collector's own spans and metrics, sent again and again."""

from __future__ import annotations

import asyncio

import pytest

from collector.config.exporters import OtlpExporterConfig
from collector.service.self_telemetry import SelfTelemetry
from collector.telemetry.metrics import Telemetry
from tests.sinks import OtlpSink
from tests.waiting import until


def test_metrics_that_cannot_be_read_once_are_sent_the_next_time(
    sink: OtlpSink, caplog: pytest.LogCaptureFixture
) -> None:
    read: list[int] = []

    async def collect() -> tuple[bytes, int]:
        read.append(len(read))
        if len(read) == 1:
            raise RuntimeError("a gauge failed")
        return b"", 0

    async def run() -> None:
        config = OtlpExporterConfig.model_validate({"endpoint": sink.endpoint, "tls": {"insecure": True}})
        own = SelfTelemetry("metrics", config, 0.001, collect, Telemetry())
        await own.start()
        await until(lambda: sink.requests["metrics"])
        await own.shutdown()

    asyncio.run(run())
    assert "own metrics could not be read" in caplog.text
