"""The HTTP listener against senders that are slow, many or talk nonsense; raw sockets, because no client would do this."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond
from tests.waiting import PATIENCE, drip

HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class OkServer(HttpServer):
    """Answers at once; at ``/read``, when the body is there."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        while scope["path"] == "/read" and (await receive()).get("more_body"):
            pass
        await respond(send, 200, b"ok", "text/plain")


def talk(scenario: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[None]], connections: int = 10) -> None:
    async def run() -> None:
        server = OkServer("127.0.0.1:0", connections, head_timeout=0.5)
        await server.start()
        opened: list[Streams] = []

        async def connect() -> Streams:
            opened.append(await asyncio.open_connection("127.0.0.1", server.port))
            return opened[-1]

        async with asyncio.timeout(PATIENCE):
            await scenario(connect)
        for _, writer in opened:
            writer.close()
        await server.shutdown()

    asyncio.run(run())


async def said(reader: asyncio.StreamReader) -> bytes:
    """What comes until the end of the connection, however it ends."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def good(streams: Streams) -> bool:
    reader, writer = streams
    writer.write(HEAD + b"\r\n")
    return b"200 OK" in await reader.readuntil(b"ok")


def test_a_connection_serves_several_requests() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        streams = await connect()
        assert [await good(streams) for _ in range(3)] == [True] * 3

    talk(scenario)


@pytest.mark.parametrize("begun", [b"", b"G", HEAD], ids=["nothing", "a byte", "half a head"])
def test_a_head_that_does_not_come_ends_the_connection(begun: bytes) -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(begun)
        assert await said(reader) == b""
        assert await good(await connect())

    talk(scenario)


def test_a_head_that_drips_ends_the_connection_all_the_same() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()

        writer.write(HEAD)
        dripping = asyncio.create_task(drip(lambda: writer.write(b"x: y\r\n")))
        assert await said(reader) == b""
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)

    talk(scenario)


def test_the_second_head_has_its_time_limit_too() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        streams = await connect()
        assert await good(streams)
        streams[1].write(b"GET")
        assert await said(streams[0]) == b""

    talk(scenario)


POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n"


def test_a_body_that_drips_after_its_answer_ends_the_connection() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(POST)
        await reader.readuntil(b"ok")
        dripping = asyncio.create_task(drip(lambda: writer.write(b"x")))
        assert await said(reader) == b""
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)

    talk(scenario)


def test_a_body_that_comes_after_its_answer_leaves_the_connection_to_the_next_request() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(POST)
        await reader.readuntil(b"ok")
        writer.write(bytes(1_000_000))
        assert [await good((reader, writer)) for _ in range(3)] == [True] * 3

    talk(scenario)


def test_connections_beyond_the_limit_are_closed_and_the_others_served() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        first = [await connect() for _ in range(3)]
        assert all([await good(streams) for streams in first])
        reader, _ = await connect()
        assert await said(reader) == b""
        assert await good(first[0])

    talk(scenario, connections=3)


def test_a_request_with_two_ends_is_refused_and_nothing_after_it_answered() -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        ends = b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\n" + ends + HEAD + b"\r\n")
        answer = await said(reader)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1

    talk(scenario)


NONSENSE = {
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20 + b"\r\n\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "zeros": b"\r\n\r\n\0\r\n\r\n",
    "huge header": HEAD + b"x: " + b"y" * 700_000 + b"\r\n\r\n",
    "negative length": HEAD + b"content-length: -1\r\n\r\n",
    "two lengths": HEAD + b"content-length: 3\r\ncontent-length: 4\r\n\r\n",
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=list(NONSENSE))
def test_nonsense_is_refused_and_harms_nobody(nonsense: bytes) -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(nonsense)
        answer = await said(reader)
        assert answer == b"" or b"HTTP/1.1 400 " in answer
        assert await good(await connect())

    talk(scenario)


def test_nonsense_after_the_answer_ends_the_connection_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(CHUNKED % b"/")
        await reader.readuntil(b"ok")
        writer.write(b"no chunk\r\n")
        assert await said(reader) == b""

    talk(scenario)
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


CHUNKED = b"POST %s HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
SMALL, KIB = b"1\r\nx\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"


@pytest.mark.parametrize(
    ("chunks", "is_taken"),
    [
        (SMALL * 500, True),
        (KIB * 2000, True),
        (KIB * 100 + SMALL * 500, True),
        (SMALL * 600, False),
        (SMALL * 400_000, False),
    ],
    ids=["500", "of a KiB", "mixed", "600", "400,000"],
)
def test_a_body_in_a_great_many_small_chunks_is_refused(chunks: bytes, is_taken: bool) -> None:
    async def scenario(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(CHUNKED % b"/read" + chunks + b"0\r\n\r\n")
        if is_taken:
            assert b"200 OK" in await reader.readuntil(b"ok")
            assert await good((reader, writer))  # the next request begins to count anew
        else:
            assert b"200 OK" not in await said(reader)

    talk(scenario)
