"""Accepting connections: no delay, no endless handshakes, and a pause where file descriptors run out."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trustme

from collector.config.receivers import ServerTlsConfig
from collector.transport.accepting import Acceptor, bind
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond
from tests.waiting import PATIENCE, let_others_run, until

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class OkServer(HttpServer):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 200, b"ok", "text/plain")


def test_small_answers_are_not_delayed() -> None:
    with bind("127.0.0.1:0") as listener, socket.create_connection(listener.getsockname()), listener.accept()[0] as own:
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_all_addresses_are_those_of_both_families(host: str) -> None:
    with bind(f"{host}:0") as listener:
        listener.setblocking(True)
        for own in ("127.0.0.1", "::1"):
            with socket.create_connection((own, listener.getsockname()[1])), listener.accept()[0]:
                pass


def test_one_address_is_of_its_own_family(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind("127.0.0.1:0") as listener:
        assert listener.family is socket.AF_INET
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with bind("0.0.0.0:0") as listener:
        assert listener.family is socket.AF_INET


@asynccontextmanager
async def tls_server(folder: Path, max_connections: int, patience: float) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client = ssl.create_default_context()
    authority.configure_trust(client)
    tls = ServerTlsConfig(cert_file=folder / "cert.pem", key_file=folder / "key.pem")
    server = OkServer("127.0.0.1:0", max_connections, patience, tls)
    await server.start()
    async with asyncio.timeout(PATIENCE):
        yield server.port, client
    await server.shutdown()


async def answered(port: int, client: ssl.SSLContext) -> bool:
    """Whether a new connection gets its answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
        writer.write(REQUEST)
        await reader.readuntil(b"ok")
    except (OSError, asyncio.IncompleteReadError):
        return False
    writer.close()
    return True


@pytest.mark.parametrize("begun", [b"", b"\x16\x03"], ids=["nothing", "two bytes"])
def test_a_handshake_that_does_not_come_ends_the_connection(begun: bytes, tmp_path: Path) -> None:
    async def run() -> None:
        async with tls_server(tmp_path, 10, 0.3) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            assert await reader.read() == b""
            writer.close()

    asyncio.run(run())


def test_handshakes_in_progress_count_as_connections(tmp_path: Path) -> None:
    async def run() -> None:
        async with tls_server(tmp_path, 2, PATIENCE) as (port, client):
            first, second = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(2)]
            assert not await answered(port, client)
            first.close()
            while not await answered(port, client):
                pass  # until the first has left
            second.close()

    asyncio.run(run())


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Let this process open no more files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    taken = []
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_without_descriptors_it_waits_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[None] = []

    async def run() -> None:
        server = OkServer("127.0.0.1:0")
        server.on_accept_failure = lambda: failures.append(None)
        await server.start()
        sender = socket.create_connection(("127.0.0.1", server.port))  # the kernel answers; nobody has accepted yet
        sender.setblocking(False)
        with no_descriptors_left():
            await until(lambda: len(failures) == 2)
        sender.send(REQUEST)
        async with asyncio.timeout(PATIENCE):
            assert b"200 OK" in await asyncio.get_running_loop().sock_recv(sender, 1000)
        sender.close()
        await server.shutdown()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert [record.message for record in caplog.records if "Too many open files" not in record.message] == []
    assert len(caplog.records) == 1


def test_connections_beyond_the_limit_are_closed_told_of_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[None] = []

    async def run() -> None:
        server = OkServer("127.0.0.1:0", 2)
        server.on_excess = lambda: closed.append(None)
        await server.start()
        kept = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                assert await reader.read() == b""
                writer.close()
            kept[0][1].write(REQUEST)
            await kept[0][0].readuntil(b"ok")
        for _, writer in kept:
            writer.close()
        await server.shutdown()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert len(closed) == 3
    (line,) = [record.message for record in caplog.records]
    assert line.endswith(": 2 are open, and further ones are closed")


def test_many_connections_at_once_leave_the_event_loop_to_others() -> None:
    turn, accepted = 0, list[int]()

    def factory() -> asyncio.Protocol:
        accepted.append(turn)
        return asyncio.Protocol()

    async def run() -> None:
        nonlocal turn
        listener = bind("127.0.0.1:0")
        senders = [socket.create_connection(listener.getsockname()) for _ in range(50)]  # in the kernel's queue
        acceptor = Acceptor(listener, factory, [], 100, lambda: None, lambda: None)
        async with asyncio.timeout(PATIENCE):
            while len(accepted) < 50:
                await let_others_run()
                turn += 1
        for sender in senders:
            sender.close()
        await acceptor.close()
        await let_others_run()

    asyncio.run(run())
    assert len(set(accepted)) == 50, "one connection each time that all others have had their turn"
