"""A real Prometheus server that scrapes and evaluates every second."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.collector_process import free_port
from tests.deploy.programs import program
from tests.waiting import PATIENCE, wait_for


class PrometheusServer:
    """Scrapes ``targets`` (job -> address) with ``rules``; use as a context manager."""

    def __init__(self, folder: Path, targets: dict[str, str], rules: list[Path]) -> None:
        self.started = time.time()
        self._folder, self._port = folder, free_port()
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()
            ],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))

    @property
    def url(self) -> str:
        """Where its API is."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> PrometheusServer:
        command = [
            program("prometheus"),
            f"--config.file={self._folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--enable-feature=exemplar-storage",
            "--log.level=warn",
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stderr=log)
        try:
            wait_for(self._is_ready)
        except TimeoutError:
            self.__exit__()
            raise RuntimeError((self._folder / "log").read_text()) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=PATIENCE) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def api(self, path: str, **parameters: Any) -> Any:
        """The data of an API answer; what Prometheus finds wrong is the test's failure."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The rows of an instant query."""
        rows: list[dict[str, Any]] = self.api("query", query=expression)["result"]
        return rows

    def alerts(self, name: str, file: Path, **labels: str) -> list[str]:
        """The states, pending or firing, of the alerts of one name from one rule file that carry the labels."""
        groups = [group for group in self.api("rules", type="alert")["groups"] if group["file"] == str(file)]
        rules = [rule for group in groups for rule in group["rules"] if rule["name"] == name]
        return [
            alert["state"] for rule in rules for alert in rule["alerts"] if labels.items() <= alert["labels"].items()
        ]

    def exemplar_traces(self, expression: str) -> set[str]:
        """The trace ids of the exemplars stored for the series."""
        found = self.api("query_exemplars", query=expression, start=self.started - 60, end=time.time() + 60)
        return {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}
