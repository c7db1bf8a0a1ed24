"""The messages with which frameworks refuse a tool call: unknown tool, arguments that do not match its schema.

Some record such a call like one that ran and failed. Only the message distinguishes the two, so the messages are listed
here with their authors; a framework that changes its message adds a line.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 2_000
"""How much of a message is searched."""

_REFUSALS: Final = re.compile(
    "|".join((
        r"MCP error -32602\b",  # MCP SDKs: unknown tool, invalid arguments
        r"Input validation error: ",  # MCP servers
        r"Tool input validation failed",  # Mastra
        r"Tool '[^']*' not found in registry",  # Strands
        r"\bis not a valid tool, try one of\b",  # LangGraph
        r"Received tool input did not match expected schema",  # LangChain JS
        r"Unknown tool name: ",  # Pydantic AI
        r"\bModel tried to call unavailable tool\b",  # Vercel AI SDK
        r"Invalid input for tool ",  # Vercel AI SDK
        r"\bTool \S+ not found\b",  # OpenAI Agents, Mastra 0.x, Haystack
        r"\bFunction \S+ not found\b",  # Agno, Google ADK
        r"\b[Uu]nknown tool\b",  # smolagents, and hand-written agent loops
        r"\b[Ii]nvalid arguments for tool\b",  # MCP SDKs
        # Strands and Google ADK for JS: Zod's issues
        r"(?:^|: )\s*\[\s*\{[^\]]{0,300}?\"code\": \"(?:invalid_|unrecognized_|too_)",
    ))
)  # fmt: skip


def is_refusal(message: str) -> bool:
    """Whether ``message``, a tool span's error or a tool result, means that nothing ran."""
    return _REFUSALS.search(message, 0, MAX_CHARS) is not None
