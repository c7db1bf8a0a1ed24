"""A call and its result as a model's provider writes them, which a step of an agent's loop records in an attribute each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from collector.payloads.attribute_shapes import MAX_LOOKED_AT, Meaning
from collector.payloads.messages import may_contain_tool_calls, tool_call_parts
from collector.payloads.tool_results import may_contain_results, result_in
from collector.payloads.values import parse_json


def exchange_among(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns id, tool, input and output of the one call of which the result, of the same id, is another attribute's value."""
    texts = [value for value in islice(attributes.values(), MAX_LOOKED_AT) if type(value) is str and value[:1] == "{"]
    results = [value for text in texts if may_contain_results(text) and isinstance(value := parse_json(text), dict)]
    told = [(result, value) for value in results if (result := result_in(value)) is not None]
    if len(told) != 1:
        return {}
    result, message = told[0]
    calls = [
        part
        for text in texts
        if may_contain_tool_calls(text) and (asked := parse_json(text)) != message
        for part in tool_call_parts(asked)
    ]
    if len(calls) != 1 or result.call_id is None or calls[0].id != result.call_id:
        return {}
    call = calls[0]
    return {"call_id": [call.id], "tool_name": [call.name], "input": [call.arguments], "output": [message]}
