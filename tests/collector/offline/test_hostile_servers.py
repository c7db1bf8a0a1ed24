"""What `compare` and `explain` ask may be any server: its answer takes no more time or memory than a limit, and is checked."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import socket
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from collector.cli import main
from collector.offline import ask

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_ENDLESS = _HEAD + b"content-length: 2000000000\r\n\r\n"


class Server:
    """Answers each request with these pieces of bytes, for as long as the client listens."""

    def __init__(self, pieces: Iterable[bytes], pause: float = 0.0) -> None:
        self._pieces, self._pause, self.sent = pieces, pause, 0
        self._left = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(1 << 16)
                    for piece in self._pieces:
                        connection.sendall(piece)
                        self.sent += len(piece)
                        if self._left.wait(self._pause):
                            return


def whole(body: bytes, *headers: bytes) -> list[bytes]:
    length = b"content-length: %d" % len(body)
    return [_HEAD + b"\r\n".join([length, b"connection: close", *headers]) + b"\r\n\r\n" + body]


def counted(value: Any, **metric: Any) -> bytes:
    metric = {"rule": "r", "scorer": "trajectory", "label": "pass", **metric}
    return json.dumps({"status": "success", "data": {"result": [{"metric": metric, "value": [0, value]}]}}).encode()


COMMANDS = [["compare", "1", "2", "--prometheus"], ["explain", "4b", "--collector"]]


@pytest.fixture(params=COMMANDS, ids=["compare", "explain"])
def command(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


def refused(command: list[str], server: Server, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*command, server.url]) == 2
    said = capsys.readouterr().err
    assert server.url in said
    assert len(said) < 1_000
    assert all(line.isprintable() for line in said.split("\n"))
    return said


@pytest.mark.parametrize("begin", [_ENDLESS, _HEAD + b"x: "], ids=["body", "head"])
def test_an_answer_that_drips_is_given_up(
    command: list[str], begin: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "TIMEOUT", 0.2)
    with Server(itertools.chain([begin], itertools.repeat(b" ")), pause=0.01) as server:
        assert "0.2 s" in refused(command, server, capsys)


def test_no_more_of_an_answer_is_read_than_a_limit(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "MAX_ANSWER_BYTES", 1 << 20)
    with Server(itertools.chain([_ENDLESS], itertools.repeat(bytes(1 << 16), 1_000))) as server:
        assert "longer than 1 MiB" in refused(command, server, capsys)
    assert server.sent < 32 << 20, "what the kernel's buffers hold"


def test_a_collector_that_wants_a_token_is_told_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    body = b'{"error": "missing or invalid bearer token"}'
    answer = [piece.replace(b"200 OK", b"401 Unauthorized") for piece in whole(body)]
    with Server(answer) as server:
        told = refused(["explain", "4b", "--collector"], server, capsys)
    assert told.endswith("401: missing or invalid bearer token; it is taken from RIGHTCALL_ADMIN_TOKEN\n")


def test_a_compressed_answer_is_not_expanded(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bomb = gzip.compress(b" " * (8 << 20) + b"{}")
    with Server(whole(bomb, b"content-encoding: gzip")) as server:
        refused(command, server, capsys)


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b"9" * 10_000, b"\xff\xfe", b"[]", b"null", b""])
def test_json_that_is_none_of_theirs_is_said(
    command: list[str], body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(whole(body)) as server:
        refused(command, server, capsys)


@pytest.mark.parametrize("body", [
    counted("NaN"), counted("+Inf"), counted("-5"), counted("1e400"), counted("1e308"), counted("1e160"),
    counted({}), counted(None),
    b'{"status":"success","data":{"result":[{}]}}', b'{"status":"success","data":{"result":{"a":1}}}',
    b'{"status":"error","error":"\\u001b[2J\\ud800' + b"x" * 5_000 + b'"}',
])  # fmt: skip
def test_counts_that_cannot_be_are_said(body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(whole(body)) as server:
        refused(COMMANDS[0], server, capsys)


def test_counts_of_rules_by_any_name_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(whole(counted("3000", rule="\x1b[2J\ud800"))) as server:
        assert main([*COMMANDS[0], server.url]) == 0
    assert "\\x1b[2J" in capsys.readouterr().out


def test_the_listener_for_otlp_is_told_from_that_of_the_admin(capsys: pytest.CaptureFixture[str]) -> None:
    head = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/x-protobuf\r\nconnection: close\r\n"
    with Server([head + b"content-length: 4\r\n\r\n\x08\x0c\x12\x00"]) as server:
        assert main(["explain", "--collector", server.url, "00ff"]) == 2
        expected = f"{server.url}: that is a listener for OTLP, not a collector's admin listener\n"
    assert capsys.readouterr().err == expected
