"""What LangChain tells its callbacks about a run and its tools, in texts that tracers record as they are."""

from __future__ import annotations

import json
import re
from typing import Final

AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
NODE: Final = re.compile(r'"langgraph_node":\s*"([^"\\]+)"')
INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')
CALL_ID: Final = re.compile(r'"tool_call_id":\s*"([^"\\]+)"')
"""In the message that a tool's result becomes."""
_WITHOUT_ID: Final = re.compile(r'"role":"tool"(?:,"name":"(?:[^"\\]|\\.){1,256}")?\}')
"""The end of such a message of Langfuse's for JavaScript, which has no id, once its role is a tool's."""

_ANSWERED: Final = '"role":"assistant"}'
"""The end of an answer there that asks for nothing."""
_CALLS: Final = '"tool_calls":'
_SOME: Final = re.compile(r" ?\[\{")
_JSON: Final = json.JSONDecoder()


def ends_with_calls(state: object) -> bool:
    """Whether the state that an agent ended with lacks the results of calls that its last answer asked for: it waits for a
    human.
    """
    if type(state) is not str:
        return False
    at = state.rfind(_CALLS)
    some = _SOME.match(state, at + len(_CALLS)) if at >= 0 else None
    if some is None:
        return False
    ids, told = _ids_of(state, some.end() - 2), set(CALL_ID.findall(state, some.end()))
    if ids and not told:
        has_gone_on = _ANSWERED in state[some.end() :]  # a call whose arguments are no JSON has no result there
        return not has_gone_on and len(_WITHOUT_ID.findall(state, some.end())) < len(ids)
    return ids is not None and not (told and told.issuperset(ids))


def _ids_of(state: str, at: int) -> list[str] | None:
    """Returns the ids of the calls that are listed there; none if they are no JSON, None if they are another framework's.

    LangChain has them as the model's provider wrote them, too.
    """
    try:
        calls, _ = _JSON.raw_decode(state, at)
    except (ValueError, RecursionError):
        return []
    if not all(isinstance(call, dict) and ("args" in call or "function" in call) for call in calls):
        return None
    return [call["id"] for call in calls if type(call.get("id")) is str]
