"""The tools of a recording behind an MCP server, in a thread of the agent's process so that their log stays one."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from mcp.server.mcpserver import MCPServer

from tests.record.session import Tools
from tests.waiting import wait_for

SERVER = "travel"


@contextmanager
def mcp_server(tools: Tools) -> Iterator[str]:
    """Serve the tools over streamable HTTP on loopback; yields the address."""
    server = MCPServer(SERVER)
    for tool in tools:
        server.add_tool(tool)
    listening = socket.create_server(("127.0.0.1", 0))
    http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning"))
    thread = threading.Thread(target=http.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        wait_for(lambda: http.started or not thread.is_alive(), 0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        http.should_exit = True
        thread.join()
