"""OTLP/HTTP over a real socket, as specified."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.component import Rejected
from collector.config.receivers import HttpServerConfig
from collector.errors import CollectorError, DecodeError, RefusedError, UnavailableError
from collector.receivers.otlp_http import OtlpHttpReceiver
from tests import otlp_data as data
from tests.sinks import RecordingIntake
from tests.waiting import PATIENCE, drip, until

REQUEST = data.traces(data.span(1)).SerializeToString()
PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json; charset=utf-8"}


def exchange(intake: RecordingIntake, scenario: Callable[[httpx.AsyncClient], Awaitable[None]], **config: Any) -> None:
    """Run ``scenario`` with a client of a receiver."""

    async def run() -> None:
        receiver = OtlpHttpReceiver(HttpServerConfig.model_validate({"endpoint": "127.0.0.1:0", **config}), intake)
        await receiver.start()
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{receiver.port}", trust_env=False, timeout=PATIENCE
        ) as client:
            await scenario(client)
        await receiver.shutdown()
        await receiver.shutdown()

    asyncio.run(run())


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_every_signal_has_its_path(signal: str) -> None:
    intake = RecordingIntake()

    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post(f"/v1/{signal}", content=REQUEST, headers=PROTOBUF)
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (
            200,
            b"",
            "application/x-protobuf",
        )

    exchange(intake, scenario)
    assert intake.received == [(signal, REQUEST, "http")]


def test_a_connection_that_is_closed_because_there_are_too_many_counts_as_a_request_refused() -> None:
    intake = RecordingIntake()

    async def scenario(client: httpx.AsyncClient) -> None:
        assert (await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)).status_code == 200
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        assert await reader.read() == b""
        writer.close()
        assert (await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)).status_code == 200

    exchange(intake, scenario, max_connections=1)
    assert len(intake.received) == 2
    assert intake.refused == [("http", "overload")]


def test_gzip_chunked_and_both() -> None:
    intake = RecordingIntake()

    async def chunks(body: bytes) -> Any:
        for at in range(0, len(body), 7):
            yield body[at : at + 7]

    async def scenario(client: httpx.AsyncClient) -> None:
        packed = gzip.compress(REQUEST)
        zipped = {**PROTOBUF, "content-encoding": "gzip"}
        assert (await client.post("/v1/traces", content=packed, headers=zipped)).status_code == 200
        assert (await client.post("/v1/traces", content=chunks(REQUEST), headers=PROTOBUF)).status_code == 200
        assert (await client.post("/v1/traces", content=chunks(packed), headers=zipped)).status_code == 200

    exchange(intake, scenario)
    assert [request for _, request, _ in intake.received] == [REQUEST] * 3


ZIPPED = {**PROTOBUF, "content-encoding": "gzip"}
FIRST, SECOND = data.traces(data.span(1)).SerializeToString(), data.traces(data.span(2)).SerializeToString()


def test_a_gzip_body_is_read_to_its_end_or_refused() -> None:
    intake = RecordingIntake()
    first, second = gzip.compress(FIRST), gzip.compress(SECOND)

    async def scenario(client: httpx.AsyncClient) -> None:
        assert (await client.post("/v1/traces", content=first + second, headers=ZIPPED)).status_code == 200
        assert (await client.post("/v1/traces", content=first + b"garbage", headers=ZIPPED)).status_code == 400

    exchange(intake, scenario)
    assert [request for _, request, _ in intake.received] == [FIRST + SECOND]
    assert intake.refused == [("http", "decode")]


def test_a_small_gzip_body_that_becomes_large_is_decompressed() -> None:
    intake = RecordingIntake()
    request = data.traces(data.span(1, name="x" * (3 << 20))).SerializeToString()

    async def scenario(client: httpx.AsyncClient) -> None:
        assert (await client.post("/v1/traces", content=gzip.compress(request), headers=ZIPPED)).status_code == 200

    exchange(intake, scenario)
    assert [request for _, request, _ in intake.received] == [request]


def test_a_large_json_body_is_converted_beside_small_ones() -> None:
    intake = RecordingIntake()
    large = {
        "resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "0000000000000007", "name": "x" * 9_000}] * 200}]}]
    }

    async def scenario(client: httpx.AsyncClient) -> None:
        bodies = [json.dumps(large), json.dumps(large), "{}"]
        answers = await asyncio.gather(*(client.post("/v1/traces", content=body, headers=JSON) for body in bodies))
        assert [answer.status_code for answer in answers] == [200, 200, 200]

    exchange(intake, scenario)
    assert sorted(len(data.all_spans(request)) for _, request, _ in intake.received) == [0, 200, 200]


def test_json_is_converted_to_protobuf_and_the_response_is_json() -> None:
    intake = RecordingIntake()
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "0000000000000007"}]}]}]}

    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/traces", content=json.dumps(body), headers=JSON)
        assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, "application/json")

    exchange(intake, scenario)
    assert data.all_spans(intake.received[0][1])[0].span_id == data.span_id(7)


REFUSALS: list[tuple[str, str, dict[str, str], Any, int, str]] = [
    ("POST", "/v1/other", PROTOBUF, REQUEST, 404, "unsupported"),
    ("POST", "/v1/traces", {"content-type": "text/plain"}, REQUEST, 415, "unsupported"),
    ("POST", "/v1/traces", {}, REQUEST, 415, "unsupported"),
    ("POST", "/v1/traces", {**PROTOBUF, "content-encoding": "br"}, REQUEST, 415, "unsupported"),
    ("POST", "/v1/traces", {**PROTOBUF, "content-encoding": "gzip"}, b"not gzip", 400, "decode"),
    ("POST", "/v1/traces", {**PROTOBUF, "content-encoding": "gzip"}, gzip.compress(REQUEST)[:-9], 400, "decode"),
    ("POST", "/v1/traces", JSON, b"{", 400, "decode"),
    ("POST", "/v1/traces", JSON, b"[" * 1000 + b"]" * 1000, 400, "decode"),
    ("POST", "/v1/traces", PROTOBUF, bytes((1 << 20) + 1), 413, "too_large"),
    ("POST", "/v1/traces", {**PROTOBUF, "content-encoding": "gzip"}, gzip.compress(bytes(50 << 20)), 413, "too_large"),
]


@pytest.mark.parametrize(("method", "path", "headers", "body", "status", "reason"), REFUSALS, ids=range(len(REFUSALS)))
def test_refused_requests_are_counted_and_the_next_one_works(
    method: str, path: str, headers: dict[str, str], body: Any, status: int, reason: str
) -> None:
    intake = RecordingIntake()

    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.request(method, path, content=body, headers=headers)
        assert answer.status_code == status
        if headers is JSON:
            assert answer.json()["message"]
        else:
            assert Status.FromString(answer.content).message
        assert (await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)).status_code == 200

    exchange(intake, scenario, max_request_body_size_mib=1)
    assert intake.refused == [("http", reason)]
    assert len(intake.received) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/traces", 405), ("GET", "/", 404), ("HEAD", "/v1/traces", 405), ("OPTIONS", "/v1/traces", 405)],
)
def test_a_request_that_brings_no_telemetry_is_answered_and_not_counted_as_refused(
    method: str, path: str, status: int
) -> None:
    intake = RecordingIntake()

    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.request(method, path, headers=PROTOBUF)
        assert answer.status_code == status
        assert answer.headers.get("allow") == ("POST" if status == 405 else None)
        assert method == "HEAD" or Status.FromString(answer.content).message

    exchange(intake, scenario)
    assert intake.refused == []


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [(DecodeError("bad"), 400, None), (RefusedError("full", 7), 429, "7"), (UnavailableError("stopping"), 503, "1")],
    ids=["decode", "refused", "unavailable"],
)
def test_errors_of_the_pipeline(error: CollectorError, status: int, retry_after: str | None) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)
        assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
        assert Status.FromString(answer.content).message == str(error)

    exchange(RecordingIntake(error), scenario)


def test_partial_success_in_both_encodings() -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)
        assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 3
        answer = await client.post("/v1/traces", content=b"{}", headers=JSON)
        assert answer.json() == {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "bad ids"}}

    exchange(RecordingIntake(Rejected(3, "bad ids")), scenario)


@pytest.mark.parametrize("drips", [False, True])
def test_a_body_that_does_not_arrive_times_out(drips: bool) -> None:
    intake = RecordingIntake()

    async def run() -> None:
        receiver = OtlpHttpReceiver(
            HttpServerConfig.model_validate({"endpoint": "127.0.0.1:0", "read_timeout": "100ms"}), intake
        )
        await receiver.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)

        head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
        writer.write(head + b"content-length: 9999\r\n\r\nab")
        dripping = asyncio.create_task(drip(lambda: writer.write(b"x" if drips else b"")))
        assert b" 408 " in await reader.readline()
        dripping.cancel()
        writer.close()
        await receiver.shutdown()

    asyncio.run(run())
    assert intake.refused == [("http", "too_slow")]


HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
TOO_LARGE = {
    "announced": HEAD + b"content-length: %d\r\n\r\n" % ((1 << 20) + 1),
    "announced with 20 digits": HEAD + b"content-length: %d\r\n\r\n" % (10**20 - 1),
    "in chunks": HEAD + b"transfer-encoding: chunked\r\n\r\n100001\r\n" + bytes((1 << 20) + 1) + b"\r\n",
}


@pytest.mark.parametrize("partial", TOO_LARGE.values(), ids=list(TOO_LARGE))
def test_a_body_over_the_limit_is_refused_before_its_end(partial: bytes) -> None:
    intake = RecordingIntake()

    async def run() -> None:
        config = HttpServerConfig(endpoint="127.0.0.1:0", max_request_body_size_mib=1)
        receiver = OtlpHttpReceiver(config, intake)
        await receiver.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(partial)
        assert b" 413 " in await reader.readline()
        writer.close()
        await receiver.shutdown()

    asyncio.run(run())
    assert intake.refused == [("http", "too_large")]


@pytest.fixture(autouse=True)
def _no_stray_sockets() -> Iterator[None]:
    """Warnings are errors, so a socket left open fails the test that left it."""
    yield
    gc.collect()


def chunked(size: int) -> Any:
    async def parts() -> Any:
        for _ in range(size >> 16):
            yield bytes(1 << 16)

    return parts()


ROOM = 4 << 20
_GZIPPED, _ZEROS = {**PROTOBUF, "content-encoding": "gzip"}, bytes(ROOM)
TOO_MUCH: dict[str, tuple[dict[str, str], Callable[[], Any]]] = {
    "announced": (PROTOBUF, lambda: _ZEROS),
    "chunked": (PROTOBUF, lambda: chunked(ROOM)),
    "gzip": (_GZIPPED, lambda: gzip.compress(_ZEROS)),
    "json": (JSON, lambda: b'{"x":[' + b"[]," * 20_000 + b"0]}"),
}


@pytest.mark.parametrize(("headers", "body"), TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_a_request_that_needs_more_than_all_the_room_is_too_large(
    headers: dict[str, str], body: Callable[[], Any]
) -> None:
    intake = RecordingIntake(room=ROOM)

    async def scenario(client: httpx.AsyncClient) -> None:
        assert (await client.post("/v1/traces", content=body(), headers=headers)).status_code == 413
        assert (await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)).status_code == 200

    exchange(intake, scenario)
    assert (intake.refused, intake.in_flight.bytes) == ([("http", "too_large")], 0)
    assert len(intake.received) == 1


def test_while_the_room_is_taken_large_requests_are_asked_to_come_later_and_small_ones_are_taken() -> None:
    intake = RecordingIntake(room=ROOM)

    async def scenario(client: httpx.AsyncClient) -> None:
        with intake.reservation() as unfinished:
            unfinished.add(ROOM // 2)
            answer = await client.post("/v1/traces", content=bytes(ROOM // 2), headers=PROTOBUF)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert (await client.post("/v1/traces", content=REQUEST, headers=PROTOBUF)).status_code == 200
        answer = await client.post("/v1/traces", content=bytes(ROOM // 2), headers=PROTOBUF)
        assert answer.status_code == 200

    exchange(intake, scenario)
    assert (intake.refused, intake.in_flight.bytes) == ([("http", "overload")], 0)


def test_an_unfinished_body_takes_the_room_of_what_has_arrived_until_its_sender_hangs_up() -> None:
    intake = RecordingIntake(room=ROOM)

    async def scenario(client: httpx.AsyncClient) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", int(client.base_url.port or 0))
        writer.write(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n")
        writer.write(b"Content-Length: 3000000\r\n\r\n" + bytes(1_000_000))
        await until(lambda: intake.in_flight.bytes == 1_000_000)
        writer.close()
        await until(lambda: intake.in_flight.bytes == 0)

    exchange(intake, scenario)
    assert intake.refused == [("http", "decode")]
