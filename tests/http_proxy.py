"""A real HTTP proxy: tunnels for CONNECT, and requests for http:// URLs; every host it is asked for is at 127.0.0.1."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from typing import Any
from urllib.parse import urlsplit

_BUFFER = 1 << 16


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        first = self.rfile.readline().decode()
        head = b""
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head += line
        method, target, version = first.split()
        server: Any = self.server
        server.seen.append((method, target, head.decode()))
        port = int(target.rpartition(":")[2]) if method == "CONNECT" else urlsplit(target).port
        with socket.create_connection(("127.0.0.1", port or 80)) as backend:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                backend.sendall(f"{method} {urlsplit(target).path} {version}\r\n".encode() + head + b"\r\n")
            back = threading.Thread(target=_pump, args=(backend, self.connection))
            back.start()
            with contextlib.suppress(OSError):
                while data := self.rfile.read1(_BUFFER):
                    backend.sendall(data)
                backend.shutdown(socket.SHUT_WR)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client went away
        while data := source.recv(_BUFFER):
            target.sendall(data)


class HttpProxy(socketserver.ThreadingTCPServer):
    """Serves until the ``with`` block ends; ``seen`` has method, target and header of each request that it was sent."""

    daemon_threads = False  # waited for when it closes

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.seen: list[tuple[str, str, str]] = []

    def __enter__(self) -> HttpProxy:
        threading.Thread(target=self.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"
