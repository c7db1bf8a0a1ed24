"""Whether the tools that a model was offered would take the calls that it requested.

A framework refuses a call of a tool that it does not have, or whose arguments do not fit the tool, and many record it like
one that ran and failed. A request that holds the definitions tells the two apart, whatever words the failure has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from collector.byte_cache import ByteCache
from collector.payloads.flattened_attributes import FlattenedAttributes, lacks_items, unflatten
from collector.payloads.messages import ToolCallPart
from collector.payloads.tool_arguments import fits_parameters
from collector.payloads.tool_definitions import MAX_TOOLS, tool_definitions
from collector.payloads.values import MAX_TEXT, parse_any

Fit = Literal["", "fits", "misfit", "unknown", "output"]
"""Of a requested call: the tool takes its arguments, or does not; or it was not offered; or it is the form of the agent's
output, and no tool. "" if nothing tells.
"""
FITS: Final[Mapping[str, Fit]] = {"-": "", "f": "fits", "m": "misfit", "u": "unknown", "o": "output"}
"""By the letter that stands for it in what ``fits_of`` returns."""
MAX_DEFINITIONS: Final = 131_072
"""Longest definitions, in characters, that are read."""
MAX_CALLS: Final = 64
"""How many calls of one answer are looked at."""

_IN_REQUEST: Final = re.compile(r'"tools": ?(?=\[\{"(?:type|function)": ?["{])')
_DECODER: Final = json.JSONDecoder()

_HOSTED: Final = re.compile(
    r'"type": ?"(?:(?:web_search|file_search|code_interpreter|image_generation|mcp)(?:_preview)?(?:_\d\d\d\d_\d\d_\d\d)?'
    r'|(?:web_search|web_fetch|code_execution|tool_search_tool_\w{2,8})_\d{8})"'
)
"""The types of OpenAI's, and of Anthropic's."""
_OUTPUT_TOOLS: Final = "output_tools"  # Pydantic AI's, beside the tools that do something
_OUTPUT: Final[Mapping[str, Any]] = MappingProxyType({})
"""In place of the parameters of what is no tool."""
_Offered = Mapping[str, Mapping[str, Any] | None]
_PARSED: Final = 16  # objects take about this many times the text they were parsed from
_offered: ByteCache[tuple[object, ...], _Offered] = ByteCache(32 << 20)

_CHOICE: Final = re.compile(r'"tool_choice": ?\{[^{}]{0,200}"type": ?"(?:function|tool)"')


def tools_in_request(request: object) -> str | None:
    """Returns the definitions in the text of a request to OpenAI."""
    return definitions_behind(_IN_REQUEST, request)


def definitions_behind(begin: re.Pattern[str], request: object) -> str | None:
    """Returns the definitions behind what begins them in the text of a request. The rest of it grows with the conversation, and
    is not parsed.
    """
    found = begin.search(request) if type(request) is str else None
    if found is None:
        return None
    tools = found.string[found.end() : found.end() + MAX_DEFINITIONS]
    try:
        _, end = _DECODER.raw_decode(tools)
    except (ValueError, RecursionError):
        return None
    return tools[:end]


def offers_hosted(definitions: object) -> bool:
    """Whether there are tools among them that OpenAI or Anthropic runs itself, before it answers. Microsoft's Agent Framework
    (1.23) writes those of any provider like OpenAI's.
    """
    return type(definitions) is str and _HOSTED.search(definitions, 0, MAX_DEFINITIONS) is not None


def fits_of(calls: Iterable[ToolCallPart], definitions: object) -> str:
    """Returns a letter for each of the first MAX_CALLS calls; nothing if it is not known which tools were offered."""
    offered = _tools(definitions)
    if not offered:
        return ""
    return "".join([_letter(call, offered) for call, _ in zip(calls, range(MAX_CALLS), strict=False)])


def _letter(call: ToolCallPart, offered: _Offered) -> str:
    if call.name not in offered:
        return "u"
    parameters = offered[call.name]
    if parameters is _OUTPUT:
        return "o"
    if parameters is None or call.arguments is None:
        return "-"
    fits = fits_parameters({} if call.arguments == "" else call.arguments, parameters)
    return "-" if fits is None else "f" if fits else "m"


def _tools(definitions: object) -> _Offered:
    """Returns the parameters of each tool by its name; nothing if there may be more tools."""
    parts: tuple[object, ...]
    if isinstance(definitions, FlattenedAttributes):
        parts = tuple(definitions.items())
    elif isinstance(definitions, (list, tuple)):
        parts = tuple(definitions)
    else:
        parts = (definitions,)
    try:
        known = _offered.get(parts)
    except TypeError:  # attributes of attributes, as openlit has them in its events
        is_list = all(isinstance(part, Mapping) for part in parts)
        return _tools(json.dumps(parts, default=str)) if is_list else {}
    if known is not None:
        return known
    size = _size(parts)
    if size > MAX_DEFINITIONS:
        return {}
    if isinstance(definitions, FlattenedAttributes) and lacks_items(definitions):
        return _offered.keep(parts, {}, size)  # OpenInference records AutoGen's handoffs, and not the tools before them
    value = unflatten(definitions)
    tools = tool_definitions([value])
    found = {tool.name: tool.parameters for tool in tools} if len(tools) < MAX_TOOLS else {}
    parsed = parse_any(value)
    if found and isinstance(parsed, Mapping) and parsed.get(_OUTPUT_TOOLS):
        found.update((tool.name, _OUTPUT) for tool in tool_definitions([parsed[_OUTPUT_TOOLS]]))
    return _offered.keep(parts, found, _PARSED * size)


def _size(parts: Iterable[object]) -> int:
    return sum(len(part) if isinstance(part, str) else len(str(part)) for part in parts)


def names_tool_to_call(parameters: object) -> bool:
    """Whether the parameters of a request, as JSON, name the tool that the answer has to call (OpenAI, Anthropic)."""
    return type(parameters) is str and _CHOICE.search(parameters, 0, MAX_TEXT) is not None
