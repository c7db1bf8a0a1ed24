"""What LangChain tells its callbacks about a run and its tools, in texts that tracers record as they are."""

from __future__ import annotations

import re
from typing import Final

AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
NODE: Final = re.compile(r'"langgraph_node":\s*"([^"\\]+)"')
INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')
CALL_ID: Final = re.compile(r'"tool_call_id":\s*"([^"\\]+)"')
"""In the message that a tool's result becomes."""

_CALLS: Final = '"tool_calls":['
_RESULT: Final = '"tool_call_id":'


def ends_with_calls(state: object) -> bool:
    """Whether the last message of the state that an agent for JavaScript ended with asks for calls: it waits for a human."""
    if type(state) is not str:
        return False
    at = state.rfind(_CALLS)
    return at >= 0 and state.startswith("{", at + len(_CALLS)) and state.find(_RESULT, at) < 0
