"""An endpoint with OpenAI's chat completions API and scripted answers, over real sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Question = Mapping[str, Any]
TOKENS = 70
"""The token count that every answer reports."""


@dataclass(frozen=True)
class Reply:
    """What the server does with one request. ``hangs`` after so many bytes of the body, until the server closes."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: int | None = None


def says(text: str) -> Reply:
    """A chat completion with this text."""
    usage = {"prompt_tokens": TOKENS - 20, "completion_tokens": 20, "total_tokens": TOKENS}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Reply(json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}).encode())


def fails(status: int, **headers: str) -> Reply:
    """An error."""
    body = json.dumps({"error": {"message": "no", "type": "no"}}).encode()
    return Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


HANGS = Reply(hangs=0)
HANGS_MID_BODY = Reply(says("{}").body, hangs=10)


def words(question: Question) -> str:
    """Everything that was sent to the model, as one text."""
    return "\n".join(message["content"] for message in question["messages"])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that disconnect early are part of the tests."""


class JudgeServer:
    """Answers each question with ``script(question)``; ``questions`` and ``headers`` are those of all requests."""

    def __init__(self, script: Callable[[Question], Reply]) -> None:
        self.script = script
        self.questions: list[Question] = []
        self.headers: list[Mapping[str, str]] = []
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.questions.append({**question, "path": self.path})
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                server._reply(self, server.script(question))

            def log_message(self, *_: object) -> None:
                pass

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def _reply(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.hangs == 0:
            self._closing.wait()
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(reply.body)))
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(reply.body[: reply.hangs])
        if reply.hangs is not None:
            handler.wfile.flush()
            self._closing.wait()
            handler.close_connection = True

    def __enter__(self) -> JudgeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
