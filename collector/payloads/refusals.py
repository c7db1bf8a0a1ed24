"""The words by which frameworks say that a tool call never ran: unknown tool, arguments that do not fit its schema.

Some record such a call like one that ran and failed. Only the message tells the two apart, so the messages are listed
here with who writes them; a framework that changes its words adds a line.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 2_000

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
        r"\b[Uu]nknown tool\b",  # smolagents, and loops people write themselves
        r"\b[Ii]nvalid arguments for tool\b",  # MCP SDKs
        # Strands and Google ADK for JS: Zod's issues
        r"(?:^|: )\s*\[\s*\{[^\]]{0,300}?\"code\": \"(?:invalid_|unrecognized_|too_)",
    ))
)  # fmt: skip


def is_refusal(message: str) -> bool:
    """Whether ``message``, a tool span's error or a result told to a model, says that nothing ran."""
    return _REFUSALS.search(message, 0, MAX_CHARS) is not None
