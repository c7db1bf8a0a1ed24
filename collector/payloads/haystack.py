"""Calls and results in what Haystack writes of the component that ran all calls of a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from collector.payloads.values import first_member


def exchange_of_haystack(output: object) -> str | None:
    """Returns the calls and results in the output of its `ToolInvoker` (2.x), as messages; None if it holds none.

    Nothing else tells of those of an agent's last step, if it ends with a tool (``exit_conditions``).
    """
    told = first_member(output, "tool_messages")
    if not isinstance(told, list):
        return None
    results = [part for message in told if isinstance(message, Mapping) for part in _parts_of(message)]
    calls = [{"tool_call": result["origin"]} for result in results if isinstance(result.get("origin"), Mapping)]
    return json.dumps([{"role": "assistant", "content": calls}, *told]) if calls else None


def _parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    results = [part.get("tool_call_result") for part in parts if isinstance(part, Mapping)]
    return [result for result in results if isinstance(result, Mapping)]
