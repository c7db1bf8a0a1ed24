"""The tools that a run was offered, from the definitions that its agent and its model requests carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from collector.checkpoints import checkpoint
from collector.payloads.flattened_attributes import unflatten
from collector.payloads.tool_definitions import MAX_TOOLS, tool_definitions
from collector.reconstruction.run import Run
from collector.reconstruction.tool_names import is_prefixed
from scorers.judged.judge import ToolDefinition

Schemas = Mapping[str, Mapping[str, Any] | None]
MAX_LISTS: Final = 16
"""Different lists of tools that are read of one run; of a run with more it is not known what it was offered."""


def declared_tools(run: Run) -> Schemas | None:
    """Returns the schema of each offered tool by name; None if it is not known which were offered.

    An agent may call a tool of an MCP server by the name that it gave it, or by the server's: it is then there by both.
    """
    lists: list[object] = []
    for content in run.contents:
        # Every request repeats them: the last list is usually the same again.
        if content.tool_definitions and content.tool_definitions not in lists[-1:]:
            lists.append(content.tool_definitions)
    schemas: dict[str, Mapping[str, Any] | None] = {}
    for offered in lists[:MAX_LISTS]:
        tools = _of_text(offered) if isinstance(offered, str) else tool_definitions([unflatten(offered)])
        if len(tools) >= MAX_TOOLS:  # there may be more
            return None
        for tool in tools:
            if schemas.get(tool.name) is None:
                schemas[tool.name] = tool.parameters
    if not schemas or len(lists) > MAX_LISTS:
        return None
    for name in {call.name for call in run.trajectory.calls} - schemas.keys():
        checkpoint()
        of_server = [known for known in schemas if is_prefixed(known, name) or is_prefixed(name, known)]
        if len(of_server) == 1:
            schemas[name] = schemas[of_server[0]]
    return schemas


@lru_cache(maxsize=32)
def _of_text(text: str) -> Sequence[ToolDefinition]:
    return tool_definitions([text])
