"""The admin listener: alive, ready, and a configuration that shows no secret."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from collector.config.model import Config
from collector.service.health import AdminServer, Health

SECRETS: dict[str, Any] = {
    "receivers": {"otlp": {"protocols": {"grpc": {"auth": {"bearer_token": "s3cret-token"}}}}},
    "exporters": {"otlp": {"endpoint": "x:1", "headers": {"authorization": "s3cret-header"}}},
}


def ask(path: str, health: Health, **config: Any) -> httpx.Response:
    async def run() -> httpx.Response:
        settings = Config.model_validate({"admin": {"endpoint": "127.0.0.1:0"}, **config})
        server = AdminServer(settings, health)
        await server.start()
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://127.0.0.1:{server.port}{path}")
        await server.shutdown()
        return answer

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("running", "failing", "status"), [(False, False, 503), (True, False, 200), (True, True, 503), (False, True, 503)]
)
def test_ready_only_while_it_runs_and_can_keep_what_it_takes(running: bool, failing: bool, status: int) -> None:
    health = Health(lambda: failing)
    health.running = running
    assert ask("/readyz", health).status_code == status
    assert ask("/livez", health).status_code == 200


def test_the_configuration_without_its_secrets() -> None:
    answer = ask("/config", Health(), **SECRETS, spool="memory")
    assert "s3cret" not in answer.text
    shown = json.loads(answer.text)
    assert list(shown["exporters"]["otlp"]["headers"]) == ["authorization"]
    assert shown["spool"] == "memory"


def test_an_unknown_path_says_what_there_is() -> None:
    answer = ask("/", Health())
    assert (answer.status_code, "/readyz" in answer.text) == (404, True)
