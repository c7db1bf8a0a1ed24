"""Extracts the tools that an agent was offered from whatever the instrumentation recorded of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from collector.payloads.values import name_of, parse_any
from scorers.judged.judge import ToolDefinition

MAX_TOOLS: Final = 256
"""How many tools are returned."""
MAX_DEPTH: Final = 10
MAX_NODES: Final = 10_000
"""How many nodes of one value are visited."""

# Keys of objects that contain definitions, and of objects that contain the fields of one definition.
_LISTS: Final = (
    "tools", "function_tools", "output_tools", "functionDeclarations", "function_declarations", "functions", "config",
    "toolConfig", "llm", "request",
)  # fmt: skip
_WRAPPERS: Final = ("function", "toolSpec", "tool", "json_schema", "data", "definition")
_NAME_KEYS: Final = ("name", "tool_name", "toolName", "id")
_PARAMETER_KEYS: Final = (
    "parameters", "inputSchema", "input_schema", "parameters_json_schema", "parametersJsonSchema", "args_schema",
    "json_schema", "args",
)  # fmt: skip


def tool_definitions(sources: Iterable[object]) -> list[ToolDefinition]:
    """Returns the tools in ``sources``, each name once, by the first definition that has more than a name."""
    found: dict[str, ToolDefinition] = {}
    for source in sources:
        for tool in _definitions(source):
            known = found.get(tool.name)
            if known is None and len(found) >= MAX_TOOLS:
                return list(found.values())
            if known is None or not (known.description or known.parameters):
                found[tool.name] = tool
    return list(found.values())


def _definitions(source: object) -> Iterator[ToolDefinition]:
    stack: list[tuple[object, int]] = [(source, 0)]
    for _ in range(MAX_NODES):
        if not stack:
            return
        node, depth = stack.pop()
        node = parse_any(node)
        # A text by itself may be anything. In a list of tools it is a name.
        if isinstance(node, str) and depth:
            name = name_of(node.strip())
            if name is not None:
                yield ToolDefinition(name)
        elif isinstance(node, Mapping):
            tool = None if _is_container(node) else _definition(node)
            if tool is not None:
                yield tool
            elif depth < MAX_DEPTH:
                stack.extend(
                    (node[key], depth + 1) for key in _LISTS if isinstance(node.get(key), (Mapping, list, str))
                )
        elif isinstance(node, (list, tuple)) and depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(node))


def _is_container(node: Mapping[Any, Any]) -> bool:
    """Whether it has tools and is none, though it has a name or an id: a response, an agent, a server."""
    return any(isinstance(node.get(key), list) for key in _LISTS)


def _definition(node: Mapping[Any, Any]) -> ToolDefinition | None:
    """Returns the definition in ``node``, whatever wraps its fields; None if there is none."""
    layers = [node]
    while len(layers) < MAX_DEPTH:
        inner = next((i for key in _WRAPPERS if isinstance(i := parse_any(layers[-1].get(key)), Mapping)), None)
        if inner is None:
            break
        layers.append(inner)
    # The innermost layer first: a wrapper may have a name or an id of its own.
    name = next((n for layer in reversed(layers) for key in _NAME_KEYS if (n := name_of(layer.get(key)))), None)
    if name is None:
        return None
    description: str = next(
        (text for layer in reversed(layers) if isinstance(text := layer.get("description"), str) and text), ""
    )
    parameters = _parameters(layers)
    # The settings of a request, which some record where others have tools, may have an id, and nothing else of a tool.
    if not description and parameters is None and not _is_named(layers):
        return None
    return ToolDefinition(name, description.strip(), parameters)


def _is_named(layers: Iterable[Mapping[Any, Any]]) -> bool:
    return any(layer.get(key) for layer in layers for key in _NAME_KEYS if key != "id")


def _parameters(layers: Iterable[Mapping[Any, Any]]) -> Mapping[str, Any] | None:
    for layer in reversed(list(layers)):
        candidates = [layer] if "properties" in layer else [parse_any(layer.get(key)) for key in _PARAMETER_KEYS]
        for value in candidates:
            if isinstance(value, Mapping):
                inner: Any = value.get("json")  # Bedrock
                return inner if isinstance(inner, Mapping) else value
    return None
