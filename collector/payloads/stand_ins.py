"""Calls of a stand-in: what an agent runs where a model asked for a tool that is not there, or with wrong arguments.

OpenCode answers such a request with its own tool ``invalid``, which the model was never offered. Its arguments are the name
of the tool that was asked for and the words with which that was refused. LangChain's agents run `invalid_tool`, with that
name and the names of the tools that there are. Told by these, whatever the stand-in is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.payloads.refusals import MAX_CHARS, find_refusal, refuses
from collector.payloads.values import name_of, parse_any

_TOOL, _ERROR = "tool", "error"
_KEYS: Final = frozenset({_TOOL, _ERROR})
_REQUESTED: Final = "requested_tool_name"
_KEYS_OF_LANGCHAIN: Final = frozenset({_REQUESTED, "available_tool_names"})
_MAX_TEXT: Final = 4 * MAX_CHARS
"""Longest arguments, in characters, that are parsed: the refusal lists the tools that there are."""


def refused_tool(arguments: object) -> str | None:
    """Returns the tool that was asked for and did not run, if these are the arguments of a stand-in; else None."""
    if type(arguments) is str:
        is_possible = ('"error"' in arguments and '"tool"' in arguments) or _REQUESTED in arguments
        if not is_possible or len(arguments) > _MAX_TEXT:  # nearly always
            return None
        arguments = parse_any(arguments)
    if not isinstance(arguments, Mapping):
        return None
    if arguments.keys() == _KEYS_OF_LANGCHAIN:
        return name_of(arguments[_REQUESTED])
    if arguments.keys() != _KEYS:
        return None
    tool, error = name_of(arguments[_TOOL]), arguments[_ERROR]
    if tool is None or not isinstance(error, str) or refuses(find_refusal(error), tool) != "yes":
        return None
    return tool
