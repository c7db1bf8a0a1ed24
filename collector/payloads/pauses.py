"""What runs return that pause, for a human or for a tool that the application runs: of Agno (2 and 3), and of Google's ADK; and
what OpenAI's models ask a human before they call a server of MCP. And what Microsoft's Agent Framework leaves open."""

from __future__ import annotations

import re
from typing import Final, Literal

PAUSED: Final = ("I have tools to execute, but ", "Team run paused.")
"""How it begins."""
_EXTERNAL: Final = "external execution"
"""Is in it where the application runs a tool."""
_MAX_ANSWER: Final = 800
"""How much of an answer of a tool is searched."""
_UNCONFIRMED: Final = "This tool call requires confirmation, please approve or reject"
LONG_RUNNING: Final = "LongRunningFunctionTool"
"""Google's ADK: the type of tools, `adk_request_input` among them, after which it ends the run unless they return something:
another goes on with the answer."""

ENDS_RUN_OF_ADK: Final = ("exit_loop", "transfer_to_agent", "set_model_response")
"""ADK's own functions, after which it may not ask the model again."""

_MCP_REQUEST: Final = "mcp_approval_request"
_MCP_ASKED: Final = re.compile(r'"type": ?"mcp_approval_request"')
"""An item of the answer. Where a text quotes it, its quotation marks are escaped."""
_MCP_ANSWERED: Final = "mcp_approval_response"
_MAX_LAST: Final = 16_384
"""Characters of an input among which an answer that was told last is looked for: with a long conversation it has megabytes."""
_BY_USER: Final = re.compile(r'"role\\?": ?\\?"user\\?"')
"""Beside quotation marks that are escaped: OpenLLMetry for JavaScript has the whole input as the text of a message."""
_OF_MODEL: Final = '"role": "assistant"'
_ASKED_OR_TOLD: Final = re.compile(r'"type": "tool_call(_response)?", "id": "([^"]{1,256})"')


def outcome_of_pause(returned: str) -> Literal["told", "open"]:
    """Returns what is known of the calls for which it waits, as the outcome of an AGENT."""
    return "told" if _EXTERNAL in returned else "open"


def waits_for_confirmation(answer: object) -> bool:
    """Whether it is what Google's ADK answers in place of a tool whose call a human has to confirm first."""
    return type(answer) is str and _UNCONFIRMED in answer[:_MAX_ANSWER]


def asks_for_approval(answer: object) -> bool:
    """Whether an answer of OpenAI's asks the user to approve what a server of MCP would do: the provider calls it once told."""
    # The plain words are looked for first: every answer passes through here, and nearly none has them.
    if type(answer) is not str or _MCP_REQUEST not in answer or _MCP_ANSWERED in answer:
        return False
    return _MCP_ASKED.search(answer) is not None


def is_told_of_approval(messages: object) -> bool:
    """Whether a request to OpenAI's models tells what the user answered to that, and no words of the user after it."""
    if type(messages) is not str:
        return False
    at = messages.rfind(_MCP_ANSWERED, max(len(messages) - _MAX_LAST, 0))
    return at >= 0 and _BY_USER.search(messages, at) is None


def leaves_calls_open(conversation: object) -> bool:
    """Whether what an agent of Microsoft's framework did ends with calls without a result: the application is to make them."""
    if type(conversation) is not str:
        return False
    asked: set[str] = set()
    told: set[str] = set()
    for one in _ASKED_OR_TOLD.finditer(conversation, max(0, conversation.rfind(_OF_MODEL))):
        (told if one[1] else asked).add(one[2])
    return not asked <= told
