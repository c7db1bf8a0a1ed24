"""Requests are kept as they came, numbered, decompressed."""

from __future__ import annotations

import gzip
import urllib.request
from pathlib import Path

from tests.record.http import LoopbackServer
from tests.record.receiver import RequestFiles
from tests.waiting import PATIENCE


def post(url: str, body: bytes, **headers: str) -> bytes:
    request = urllib.request.Request(url, body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        found: bytes = answer.read()
    return found


def test_requests_become_files(tmp_path: Path) -> None:
    with LoopbackServer(RequestFiles(tmp_path).answer) as server:
        post(f"{server.url}/v1/traces", b"one")
        post(f"{server.url}/v1/metrics", b"not kept")
        post(f"{server.url}/v1/logs", gzip.compress(b"two"), **{"content-encoding": "gzip"})
        assert post(f"{server.url}/v1/traces", b"three") == b""
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {"request-001.pb": b"one", "request-002-logs.pb": b"two", "request-003.pb": b"three"}
