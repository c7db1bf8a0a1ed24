"""What LangChain tells its callbacks about a run and its tools, in texts that tracers record as they are."""

from __future__ import annotations

import json
import re
from typing import Final

from collector.payloads.values import MAX_TEXT, find_text, name_of

AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
NODE: Final = re.compile(r'"langgraph_node":\s*"([^"\\]+)"')
INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')
_CALL_ID: Final = re.compile(r'"tool_call_id":\s*"([^"\\]+)"')
"""In the message that a tool's result becomes."""
_COMMAND: Final = re.compile(r'.{0,40}"lg_name": ?"Command"')
_WITHOUT_ID: Final = re.compile(r'"role":"tool"(?:,"name":"(?:[^"\\]|\\.){1,256}")?\}')
"""The end of such a message of Langfuse's for JavaScript, which has no id, once its role is a tool's."""

_ANSWERED: Final = '"role":"assistant"}'
"""The end of an answer there that asks for nothing."""
_CALLS: Final = '"tool_calls":'
_SOME: Final = re.compile(r" ?\[\{")
_JSON: Final = json.JSONDecoder()


def call_id_in(output: object) -> str | None:
    """Returns the id of the call whose result a tool's output is: of a command that hands the conversation over, too, which
    ends with its result.
    """
    if type(output) is not str or _COMMAND.match(output) is None:
        return find_text(_CALL_ID, output)
    ids = _CALL_ID.findall(output, 0, MAX_TEXT)
    return name_of(ids[-1]) if ids else None


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
    ids, told = _ids_of(state, some.end() - 2), set(_CALL_ID.findall(state, some.end()))
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
