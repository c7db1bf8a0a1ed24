"""MCP's request for a call, where tracers of one's own record it: a message of JSON-RPC, or method and parameters apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import MAX_LOOKED_AT, Meaning
from collector.payloads.values import name_of, parse_json

_METHOD: Final = "tools/call"
_PARAMETERS: Final = frozenset({"name", "arguments", "_meta"})
_ANSWERS: Final = ("result", "error")


def call_by_rpc(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns the tool, input and output of a request ``tools/call`` among the attributes; nothing without one."""
    texts = [value for value in islice(attributes.values(), MAX_LOOKED_AT) if type(value) is str]
    if not any(_METHOD in text for text in texts):
        return {}
    objects = [value for text in texts if text[:1] == "{" and isinstance(value := parse_json(text), dict)]
    parameters = [value.get("params") for value in objects if value.get("method") == _METHOD]
    if not parameters and _METHOD in texts:
        parameters = [*objects]
    calls = list(_calls(parameters))
    if len(calls) != 1:
        return {}
    answers = [value for value in objects if "jsonrpc" in value and any(key in value for key in _ANSWERS)]
    found: dict[Meaning, list[Any]] = {"tool_name": [calls[0]["name"]], "input": [calls[0].get("arguments", {})]}
    return {**found, "output": answers} if answers else found


def _calls(parameters: Iterable[object]) -> Iterable[Mapping[str, Any]]:
    """Those that are parameters of a call."""
    for value in parameters:
        if isinstance(value, Mapping) and "name" in value and value.keys() <= _PARAMETERS and name_of(value["name"]):
            yield value
