"""The section `judge`: conservative defaults, errors with line numbers, keys that are never exposed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collector.config.judge import JudgeConfig
from collector.config.model import Config
from collector.errors import ConfigError
from collector.service.health import shown_config
from tests.builders import load
from tests.waiting import PATIENCE

JUDGE = "judge: {endpoint: http://127.0.0.1:8080/v1, model: small"


def test_there_is_no_judge_by_default(tmp_path: Path) -> None:
    assert load(tmp_path, "").judge is None


def test_defaults_are_conservative(tmp_path: Path) -> None:
    judge = load(tmp_path, JUDGE + "}").judge
    assert judge is not None
    assert (judge.hold, judge.max_concurrency, judge.budget.requests_per_minute) == (0.0, 4, 30)
    assert judge.api_key is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("api_key: a, api_key_file: b", "set only one of api_key and api_key_file"),
        ('api_key: ""', "api_key is empty"),
        ("hold: 2m", "at most 60"),
        ("max_token: 5", "max_tokens"),
        ("budget: {request_per_day: 5}", "requests_per_day"),
        ("budget: {requests_per_day: 0}", "at least 1"),
        ("max_tokens: 999, budget: {tokens_per_day: 100}", "no request could ever be sent"),
        ("timeout: 0s", "greater than 0"),
        ("tls: {insecure: true}", "begins with http://"),
    ],
)
def test_mistakes_are_explained(more: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, f"{JUDGE}, {more}}}")


def test_an_endpoint_is_a_url(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a base URL"):
        load(tmp_path, "judge: {endpoint: localhost:8080, model: small}")


def test_keys_and_headers_are_not_exposed(tmp_path: Path) -> None:
    config = load(tmp_path, JUDGE + ", api_key: s3cret, headers: {x-key: s3cret}}")
    assert "s3cret" not in json.dumps(shown_config(config))
    assert shown_config(config)["judge"]["headers"] == {"x-key": "…"}
    assert "s3cret" not in repr(config.judge).replace("headers={'x-key': 's3cret'}", "")


def test_a_collector_without_a_judge_neither_needs_nor_loads_its_client() -> None:
    code = "import sys; sys.modules['openai'] = None; import collector.service.service; print('ok')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stdout == "ok\n", done.stderr


def test_it_is_in_the_schema() -> None:
    schema = Config.model_json_schema()
    assert set(schema["$defs"]["JudgeConfig"]["properties"]) == set(JudgeConfig.model_fields)
