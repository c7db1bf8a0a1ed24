"""The admin listener: alive, ready, and a configuration that shows no secret."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from collector.config.model import Config
from collector.console.app import Console
from collector.scoring.rule_files import load_rules
from collector.service.health import AdminServer, Health
from collector.telemetry.metrics import Telemetry
from tests.waiting import PATIENCE

LOCAL = ["localhost", "LOCALHOST:13133", "127.0.0.1", "10.1.2.3:13133", "[::1]:13133", "[fe80::1]", "rightcall:13133",
         "rightcall.monitoring.svc.cluster.local:13133", "rightcall.monitoring.svc", "localhost."]  # fmt: skip
SECRETS: dict[str, Any] = {
    "receivers": {
        "otlp": {"protocols": {"grpc": {"auth": {"bearer_token": "s3cret-token"}}}},
        "kafka": {"brokers": ["k:9092"], "properties": {"ssl.key.password": "s3cret-password"}},
    },
    "exporters": {
        "otlp": {
            "endpoint": "https://s3cret-user:s3c%2Fret@x:1/?key=s3cret",
            "headers": {"authorization": "s3cret-header"},
        }
    },
    "service": {"telemetry": {"traces": {"endpoint": "http://s3cret-user@y/v1#s3cret"}}},
    "judge": {
        "endpoint": "http://:s3c/ret@z/v1",
        "model": "m",
        "api_key": "s3cret-key",
        "extra_body": {"user": {"key": "s3cret-body"}},
    },
}


def ask(
    path: str, health: Health, host: str = "localhost", telemetry: Telemetry | None = None, **config: Any
) -> httpx.Response:
    async def run() -> httpx.Response:
        settings = Config.model_validate({"admin": {"endpoint": "127.0.0.1:0"}, **config})
        console = Console(settings, None, lambda: load_rules([]), list, dict)
        server = AdminServer(settings, health, console, telemetry or Telemetry())
        await server.start()
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            answer = await client.get(f"http://127.0.0.1:{server.port}{path}", headers={"host": host})
        await server.shutdown()
        return answer

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("running", "failing", "answer"),
    [
        (False, "", (503, "not ready: it starts or stops; see the log\n")),
        (True, "", (200, "ok\n")),
        (True, "no room", (503, "not ready: no room; see the log\n")),
        (False, "no room", (503, "not ready: no room; see the log\n")),  # for which the start may wait
    ],
)
def test_ready_only_while_it_runs_and_can_keep_what_it_takes_else_it_says_why(
    running: bool, failing: str, answer: tuple[int, str]
) -> None:
    health = Health(lambda: failing)
    health.running = running
    readiness = ask("/readyz", health)
    assert (readiness.status_code, readiness.text) == answer
    assert ask("/livez", health).status_code == 200


def test_the_configuration_without_its_secrets() -> None:
    answer = ask("/config", Health(), **SECRETS, spool="memory")
    assert "s3c" not in answer.text
    shown = json.loads(answer.text)
    assert list(shown["exporters"]["otlp"]["headers"]) == ["authorization"]
    assert shown["exporters"]["otlp"]["endpoint"] == "https://…@x:1/?…"
    assert shown["judge"]["extra_body"] == {"user": "…"}
    assert shown["receivers"]["kafka"]["properties"] == {"ssl.key.password": "…"}
    assert shown["spool"] == "memory"


@pytest.mark.parametrize("host", LOCAL)
def test_the_configuration_is_shown_under_names_of_our_own(host: str) -> None:
    assert ask("/config", Health(), host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:13133", "127.0.0.1.evil.example", "", ":13133"]
)
def test_a_name_that_somebody_else_may_own_gets_no_answer(host: str) -> None:
    answer = ask("/config", Health(), host)
    assert (answer.status_code, "admin.allowed_hosts" in answer.text) == (403, True)
    assert ask("/livez", Health(), host).status_code == 200, "probes may ask for any name"


def test_more_names_can_be_allowed() -> None:
    admin = {"endpoint": "127.0.0.1:0", "allowed_hosts": ["rightcall.example.com", "*.example.org"]}
    hosts = ["rightcall.example.com", "a.example.org:80", "other.example.com", "example.org"]
    assert [ask("/config", Health(), host, admin=admin).status_code for host in hosts] == [200, 200, 403, 403]


def test_an_unknown_path_says_what_there_is() -> None:
    answer = ask("/", Health())
    assert (answer.status_code, "/readyz" in answer.text) == (404, True)


def test_what_is_not_read_is_listed_by_scope() -> None:
    telemetry = Telemetry()
    telemetry.child(telemetry.shape_spans, telemetry.label("scope", "acme")).inc(3)

    answer = ask("/unread", Health(), telemetry=telemetry)

    assert answer.json() == {"shape_spans": {"acme": 3}, "unread_spans": {}, "unread_runs": {}}
    assert ask("/unread", Health(), host="attacker.example").status_code == 403
