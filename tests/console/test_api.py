"""The JSON of the console and who may see it, from a real collector."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from collector.config.model import Config
from collector.service.service import Service
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.console.given import AT_ONCE
from tests.harness import WEATHER_RULES
from tests.waiting import PATIENCE, wait_for

RIGHT, WRONG = b"\x1a" * 16, b"\x2b" * 16


@pytest.fixture(scope="module")
def collector() -> Iterator[CollectorProcess]:
    with CollectorProcess(WEATHER_RULES, None, traces=AT_ONCE) as process:
        send(process, data.tool(2, 1, "get_weather", trace_id=RIGHT), data.tool(3, 1, "send_email", at=0.2, trace_id=RIGHT),
             data.agent(1, trace_id=RIGHT))  # fmt: skip
        send(process, data.tool(2, 1, "get_weather\x1b[2J<b>", trace_id=WRONG), data.agent(1, trace_id=WRONG))
        wait_for(lambda: len(json.loads(process.get("/runs", process.admin))["runs"]) == 2)
        yield process


def ask(process: CollectorProcess, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{process.admin}{path}", headers=headers, trust_env=False, timeout=PATIENCE)


def test_runs_are_listed_and_filtered(collector: CollectorProcess) -> None:
    def traces(query: str) -> list[str]:
        return [run["trace_id"] for run in ask(collector, f"/runs?{query}").json()["runs"]]

    assert traces("label=pass") == [RIGHT.hex()]
    assert traces("label=fail&agent=helper&rule=weather&range=1h") == [WRONG.hex()]
    assert traces("outcome=missing") == [WRONG.hex()]
    assert traces("q=send_email") == [RIGHT.hex()]
    assert traces("service.name=shop") == [WRONG.hex(), RIGHT.hex()]
    assert traces("until=2020-01-01T00:00:00Z") == []


def test_a_page_names_the_next_one(collector: CollectorProcess) -> None:
    first = ask(collector, "/runs?limit=1&agent=helper").json()
    second = ask(collector, first["next"]).json()
    assert [first["runs"][0]["trace_id"], second["runs"][0]["trace_id"], second["next"]] == [
        WRONG.hex(),
        RIGHT.hex(),
        None,
    ]
    tests = ask(collector, first["next"].replace("/runs", "/console/tests")).text
    assert (RIGHT.hex()[:12] in tests, WRONG.hex()[:12] in tests) == (True, False), tests


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("agnet=x", "did you mean agent"), ("range=2y", "1h, 24h, 7d, 30d"), ("since=soon", "since must be"),
        ("limit=501", "limit"), ("after=x", "after must be a number"), ("since=1e300", "since must be"),
        ("q=" + "x" * 5000, "4000 bytes"),
        ("&".join(f"q={number}" for number in range(100)), "60 fields"),
    ],
)  # fmt: skip
def test_a_query_that_means_nothing_is_refused(collector: CollectorProcess, query: str, told: str) -> None:
    answer = ask(collector, f"/runs?{query}")
    assert (answer.status_code, told in answer.json()["error"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("path", "status"), [("/runs/zz", 400), ("/runs/ffffffff", 404), ("/runs/%00%1b", 400), ("/console/none", 404)]
)
def test_what_is_not_there_says_so(collector: CollectorProcess, path: str, status: int) -> None:
    answer = ask(collector, path)
    assert answer.status_code == status
    assert answer.text.rstrip("\n").isprintable() or "html" in answer.headers["content-type"]


def test_explain_reads_a_running_collector(collector: CollectorProcess) -> None:
    command = [sys.executable, "-m", "collector", "explain", "--collector", f"http://127.0.0.1:{collector.admin}"]
    done = subprocess.run([*command, WRONG.hex()[:8]], capture_output=True, text=True, check=True)
    assert f"trace {WRONG.hex()}" in done.stdout
    assert "fail by rule weather" in done.stdout
    assert "call send_email" in done.stdout
    assert "\\x1b" in done.stdout
    assert "\x1b" not in done.stdout
    unknown = subprocess.run([*command, "ffffffff"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, "no run of this trace" in unknown.stderr) == (2, True)


def test_every_answer_forbids_scripts_of_others_and_copies(collector: CollectorProcess) -> None:
    for path in ("/runs", "/console/none", "/runs?x=y"):
        headers = ask(collector, path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert ask(collector, "/runs", host="evil.example").status_code == 403


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("admin", "authorization", "status"),
    [
        ({"endpoint": "0.0.0.0"}, "", 403),
        ({"endpoint": "0.0.0.0"}, "Bearer t0ken", 403),
        ({"endpoint": "0.0.0.0", "auth": {"bearer_token": "t0ken"}}, "", 401),
        ({"endpoint": "0.0.0.0", "auth": {"bearer_token": "t0ken"}}, "Bearer t0ke", 401),
        ({"endpoint": "0.0.0.0", "auth": {"bearer_token": "t0ken"}}, "Bearer t0ken", 200),
        ({"endpoint": "0.0.0.0", "auth": {"bearer_token": "t0ken"}}, basic("t0ken"), 200),
        ({"endpoint": "127.0.0.1", "auth": {"bearer_token": "t0ken"}}, basic("other"), 401),
        ({"endpoint": "127.0.0.1", "auth": {"bearer_token": "t0ken"}}, "Basic !", 401),
        ({"endpoint": "127.0.0.1"}, "", 200),
    ],
)
def test_nobody_sees_runs_by_accident(admin: dict[str, Any], authorization: str, status: int) -> None:
    assert asked_of_server(admin, {}, {"authorization": authorization}) == status


def test_the_console_can_be_turned_off() -> None:
    assert asked_of_server({"endpoint": "127.0.0.1"}, {"enabled": False}, {}) == 404


def asked_of_server(admin: dict[str, Any], console: dict[str, Any], headers: dict[str, str]) -> int:
    async def run() -> int:
        endpoints = {"grpc": {"endpoint": "127.0.0.1:0"}}
        settings = Config.model_validate({
            "receivers": {"otlp": {"protocols": endpoints}}, "spool": "memory", "console": console,
            "exporters": {"prometheus": {"endpoint": "127.0.0.1:0"}}, "admin": {**admin, "endpoint": f"{admin['endpoint']}:0"},
        })  # fmt: skip
        service = Service(settings)
        await service.start()
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            answer = await client.get(f"http://127.0.0.1:{service.admin.port}/runs", headers=headers)
        await service.shutdown()
        return answer.status_code

    return asyncio.run(run())
