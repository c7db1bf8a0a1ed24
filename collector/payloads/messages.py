"""Finds the tool calls in the messages of a model, of any provider or framework.

The formats differ in names, not in structure, so one traversal handles them all: OpenTelemetry parts, OpenAI chat and
responses, Anthropic, Bedrock, Gemini, LangChain, Vercel AI SDK, Genkit. Every traversal is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.payloads.reprs import may_be_objects, parse_message
from collector.payloads.roles import MODEL_ROLES, OTHER_ROLES, plain_role
from collector.payloads.stand_ins import refused_tool
from collector.payloads.text_calls import ACTION_INPUT, NEXT_TOOL, call_of_step, parse_call
from collector.payloads.values import first_value, name_of, parse_any

MAX_NODES: Final = 20_000
"""How many nodes of a value are visited."""
MAX_DEPTH: Final = 40
MAX_CALLS: Final = 1_000
"""How many tool calls of one output are returned."""


@dataclass(slots=True)
class ToolCallPart:
    """A tool call in a message; ``arguments`` as they were recorded."""

    id: str | None
    name: str
    arguments: Any
    by_provider: bool = False
    """The provider of the model runs it, while the model answers."""
    answers_before: int = 0
    """How many parts before it tell what came of calls."""


_ANSWERED_CALL_TYPES: Final = frozenset({
    "mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
})  # fmt: skip
"""Calls of OpenAI's own tools: one object holds the call and what came of it."""
_HOSTED_CALL_TYPES: Final = frozenset({
    "code_interpreter_tool_call", "image_generation_tool_call", "mcp_server_tool_call", "search_tool_call", "shell_tool_call",
})  # fmt: skip
"""How Microsoft's Agent Framework (1.23) writes the calls of any provider's own tools, and names the results likewise."""
_PROVIDER_CALL_TYPES: Final = (
    _ANSWERED_CALL_TYPES | _HOSTED_CALL_TYPES | {"server_tool_call", "server_tool_use", "mcp_tool_use"}
)
_BUILT_IN_CALL_TYPES: Final = frozenset({"shell_call", "local_shell_call", "apply_patch_call"})
"""Calls of OpenAI's own tools that the application runs, or the provider: another item has what came of the call."""
_PROVIDER_KEYS: Final = ("providerExecuted", "builtin")
"""With these Vercel's AI SDK and Pydantic AI mark a call that the provider runs."""
CALL_TYPES: Final = _PROVIDER_CALL_TYPES | _BUILT_IN_CALL_TYPES | {
    "tool_call", "tool-call", "toolCall", "tool_use", "toolUse", "function_call", "invalid_tool_call",
}  # fmt: skip
CALL_LISTS: Final = frozenset({"tool_calls", "toolCalls", "invalid_tool_calls"})
_CALL_WRAPPERS: Final = (
    "function", "toolUse", "functionCall", "function_call", "toolRequest", "tool_call", "server_tool_call",
)  # fmt: skip
_NAMED_CALLS: Final = (*sorted(CALL_LISTS), "function_call", "functionCall", "toolUse")
_TOOL_KEYS: Final = ("tool", "tool_name", "toolName", "function_name")
_CALL_ID_KEYS: Final = ("call_id", "callId", "id", "toolCallId", "tool_call_id", "toolUseId", "ref")
CALL_NAME_KEYS: Final = ("name", "toolName", "tool_name")
_CALL_ARGUMENT_KEYS: Final = ("arguments", "args", "input", "toolInput")
_STREAMED: Final = "partial_json"
"""LangChain's messages made of a stream of Anthropic's have the input of a call here, and beside it an empty one."""
_MCP_SERVER: Final = "mcp_server:"
"""Pydantic AI: its call names a server that the provider asked, and has the tool and its arguments in its own. The provider
may have asked only which tools there are."""
_LISTING, _MCP_LISTING = "list_tools", "mcp_list_tools"
"""How that asks for them; and how the conventions name a part for the tools of a server, which is written like a call."""
_SERVER_CALL: Final = "server_tool_call"
_DONE: Final = ("completed", "failed")
_PROVIDER_ARGUMENTS: Final = ("query", "queries", "code", "commands")
"""What providers and the conventions write of the input of a provider's tools, besides OpenAI's `action` of a search."""
_ITEM_OF_OPENAI: Final = re.compile(r"(?:ws|fs|ig)_")
"""How ids of calls of tools begin that OpenAI runs and whose input it does not give as arguments."""
_EMPTY: Final[tuple[object, ...]] = ("{}", {})
_RESULT_ENDINGS: Final = (
    "tool_call_response", "tool_result", "tool-result", "toolResult", "function_call_output", "function_call_result",
    "shell_call_output", "apply_patch_call_output",
)  # fmt: skip
"""Providers put the name of a tool of their own before it (`web_fetch_tool_result`)."""
_TOOL_MESSAGE: Final = "tool"
_RETURNING: Final = "Transferring back to "
_RETURN: Final = "transfer_back_to_"
"""The tool of which langgraph-supervisor adds a call in these words, with a result, when an agent is done."""
SKIPPED_KEYS: Final = frozenset({
    "request", "tools", "functions", "tool_definitions", "functionDeclarations", "system_instruction", "systemInstruction",
})  # fmt: skip
"""What beside the messages holds none of a call. The role of Gemini's instructions is the user's."""

_ANSWERED_CALL: Final = "_call"
"""Every one of _ANSWERED_CALL_TYPES ends like this."""
_HOSTED_CALL: Final = "_tool_call"
"""Every one of _HOSTED_CALL_TYPES ends like this."""


def may_contain_tool_calls(value: object) -> bool:
    """Whether parsing ``value`` could find a tool call; far cheaper than parsing it."""
    if not value:
        return False
    try:
        text = value if type(value) is str else repr(value)
    except RecursionError:
        return False
    return "tool" in text or "function" in text or "Tool" in text or ACTION_INPUT in text or _ANSWERED_CALL in text


def is_answer(output: object) -> bool:
    """Whether ``output`` is a message of a model as providers write it: an object with its role, and not a text alone."""
    message = parse_any(output)
    return isinstance(message, Mapping) and plain_role(message.get("role")) in MODEL_ROLES


def asks_for_nothing(output: object) -> bool:
    """Whether ``output`` is a message that says so: it names calls, as in ``"tool_calls": null``, and there are none."""
    stack: list[object] = [parse_any(output)]
    for _ in range(MAX_NODES):
        if not stack:
            return True
        node = stack.pop()
        if isinstance(node, Mapping):
            if any(child and may_contain_tool_calls(key) for key, child in node.items()):
                return False
            stack += node.values()
        elif isinstance(node, (list, tuple)):
            stack += node
        elif may_contain_tool_calls(node):
            return False
    return False


def is_unreadable(output: object) -> bool:
    """Whether ``output``, in which no call was found, may hold one: damaged JSON, or calls in words that are not known."""
    parsed = parse_any(output)
    return (type(output) is str and parsed is output and output.lstrip()[:1] in ("[", "{")) or _names_calls(parsed)


def _names_calls(output: object) -> bool:
    """Whether a message of the model has a part or a list that is named as that of calls, and is not empty."""
    stack: list[tuple[object, int]] = [(output, 0)]
    for _ in range(MAX_NODES):
        if not stack:
            break
        node, depth = stack.pop()
        if isinstance(node, str):
            node = parse_any(node)
        if isinstance(node, Mapping) and plain_role(node.get("role")) not in OTHER_ROLES:
            if any(node.get(key) for key in _NAMED_CALLS) or _is_part_of_a_call(node):
                return True
            children: Iterable[object] = (child for key, child in node.items() if key not in SKIPPED_KEYS)
        elif isinstance(node, (list, tuple)):
            children = node
        else:
            continue
        if depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in children if _may_nest(child))
    return False


def _is_part_of_a_call(node: Mapping[Any, Any]) -> bool:
    """Whether a part of a message is a call by its type, or has a type that is not known and names a tool."""
    kind = name_of(node.get("type"))
    if kind is None or is_result(node) or _is_listing(node):
        return False
    return kind in CALL_TYPES or any(name_of(node.get(key)) for key in _TOOL_KEYS)


def added_call(message: Mapping[Any, Any]) -> ToolCallPart | None:
    """Returns the only call of a message that no model wrote, but langgraph-supervisor: there is no such tool."""
    words = message.get("content")
    if type(words) is not str or not words.startswith(_RETURNING):
        return None
    calls = tool_call_parts({"tool_calls": message.get("tool_calls")})
    is_return = len(calls) == 1 and calls[0].name.startswith(_RETURN) and calls[0].arguments in _EMPTY
    return calls[0] if is_return else None


def tool_call_parts(output: object, answers: list[Mapping[Any, Any]] | None = None) -> list[ToolCallPart]:
    """Returns the tool calls in a model's output, in order, each id once.

    Does not search inside a call, whose arguments may look like one, nor messages of others than the model. Parts that
    tell what came of a call are added to ``answers``: providers run tools of their own while the model answers.
    """
    found: list[ToolCallPart] = []
    answers = [] if answers is None else answers
    seen: set[str] = set()
    answered = 0  # calls that tell themselves what came of them
    stack: list[tuple[object, bool, int]] = [(parse_any(output), False, 0)]
    for _ in range(MAX_NODES):
        if not stack or len(found) >= MAX_CALLS:
            break
        node, listed, depth = stack.pop()
        if isinstance(node, Mapping):
            step = call_of_step(node) if NEXT_TOOL in node else None
            call = call_in(step or node, listed)
            if call is None:
                stack += _nested(node, depth, answers)
            elif call.id is None or call.id not in seen:
                seen.add(call.id or "")
                call.answers_before = len(answers) - answered
                found.append(call)
                if is_answered_call(node):
                    answers.append(node)
                    answered += 1
        elif isinstance(node, (list, tuple)):
            if depth < MAX_DEPTH:
                stack.extend((child, listed, depth + 1) for child in reversed(node) if _may_nest(child))
        elif depth < MAX_DEPTH:  # a part that was encoded separately
            parsed = parse_message(node) if isinstance(node, str) else node
            if isinstance(parsed, str):
                parsed = parse_call(parsed)
            if parsed is not None:
                stack.append((parsed, listed, depth + 1))
    return found


def _nested(node: Mapping[Any, Any], depth: int, answers: list[Mapping[Any, Any]]) -> list[tuple[object, bool, int]]:
    """Returns what else to look at in an object that is no call: nothing in what tools returned, nor what others wrote."""
    if depth >= MAX_DEPTH or plain_role(node.get("role")) in OTHER_ROLES:
        return []
    if _is_returned(node):
        answers.append(node)
        return []
    nested: list[tuple[object, bool, int]] = [
        (child, key in CALL_LISTS, depth + 1)
        for key, child in node.items()
        if key not in SKIPPED_KEYS and _may_nest(child)
    ]
    nested.reverse()  # not while it is made, on which mypyc fails
    return nested


def is_result(node: Mapping[Any, Any]) -> bool:
    """Whether an object is the result of a call by its type: a part of a message, or LangChain's message of a tool."""
    return _is_returned(node) or node.get("type") == _TOOL_MESSAGE


def is_answered_call(node: Mapping[Any, Any]) -> bool:
    """Whether a call, as an object of a message, tells what came of it: OpenAI's, also in the conventions' words."""
    kind = name_of(node.get("type"))
    if kind != _SERVER_CALL:
        return kind in _ANSWERED_CALL_TYPES
    details = node.get(_SERVER_CALL)
    return isinstance(details, Mapping) and name_of(details.get("status")) in _DONE


def _is_returned(node: Mapping[Any, Any]) -> bool:
    """Whether a part of a message is what a tool returned, which may look like anything."""
    kind = node.get("type")
    return type(kind) is str and kind.endswith(_RESULT_ENDINGS)


def _may_nest(value: object) -> bool:
    if type(value) is str:
        if value[:1] in ("{", "["):
            return may_contain_tool_calls(value)
        return may_be_objects(value) or ACTION_INPUT in value
    return isinstance(value, (Mapping, list, tuple))


def call_in(node: Mapping[Any, Any], listed: bool) -> ToolCallPart | None:
    """Returns the tool call that an object of a message is, which may be ``listed`` as one; None if it is none."""
    is_call = listed or name_of(node.get("type")) in CALL_TYPES or ("toolCallId" in node and not is_result(node))
    inner: Mapping[Any, Any] | None = node if is_call else None
    for key in _CALL_WRAPPERS:
        wrapped = node.get(key)
        if isinstance(wrapped, Mapping) and (inner is not None or key != "function" or "arguments" in wrapped):
            inner = wrapped
            break
    if inner is None:
        return None
    name = name_of(first_value(inner, CALL_NAME_KEYS)) or name_of(first_value(node, CALL_NAME_KEYS))
    if name is None:
        name = _name_in_type(node)
    if name is None:
        return None
    name = name.strip() or name
    # An object around the call may have an id of its own: Agent Framework's question whether a call may run.
    call_id = name_of(inner.get(_CALL_ID_KEYS[0])) or name_of(first_value(node, _CALL_ID_KEYS))
    call_id = call_id or name_of(first_value(inner, _CALL_ID_KEYS))
    arguments = first_value(inner, _CALL_ARGUMENT_KEYS)
    if _STREAMED in inner and arguments in _EMPTY:
        arguments = inner[_STREAMED]
    refused = refused_tool(arguments)
    if refused is not None:
        return ToolCallPart(call_id, refused, None)
    by_provider = _is_by_provider(node)
    if are_stand_ins(arguments, call_id):
        arguments = None
    elif arguments is None and (by_provider or node.get("type") in _BUILT_IN_CALL_TYPES):
        arguments = arguments_of_provider(inner)
    call = ToolCallPart(call_id, name, arguments, by_provider)
    return _call_of_server(call) if by_provider and name.startswith((_MCP_SERVER, _MCP_LISTING)) else call


def _call_of_server(call: ToolCallPart) -> ToolCallPart | None:
    """Returns the call that a provider's of a server of MCP is; None if it asks for the tools, or nothing tells for what."""
    given = parse_any(call.arguments)
    if not isinstance(given, Mapping) or (tool := name_of(given.get("tool_name"))) is None:
        return None
    return ToolCallPart(call.id, tool, given.get("tool_args"), by_provider=True)


def _is_listing(node: Mapping[Any, Any]) -> bool:
    """Whether a part of a message is such a call that asks for the tools."""
    name = name_of(node.get("name")) or ""
    if not name.startswith(_MCP_SERVER):
        # An application may have a tool of this name.
        return name == _MCP_LISTING and node.get("type") == _SERVER_CALL
    given = parse_any(node.get("arguments"))
    return isinstance(given, Mapping) and given.get("action") == _LISTING


def arguments_of_provider(call: Mapping[Any, Any]) -> object:
    """Returns the arguments of a call of a provider's tool, which are beside what else is told of it, if there are any."""
    return (
        call.get("action")
        or call.get("operation")
        or {key: call[key] for key in _PROVIDER_ARGUMENTS if key in call}
        or None
    )


def are_stand_ins(arguments: object, call_id: str | None) -> bool:
    """Whether Vercel's AI SDK wrote these arguments of a tool that OpenAI ran: it has none, whatever the tool was given."""
    return arguments in _EMPTY and call_id is not None and _ITEM_OF_OPENAI.match(call_id) is not None


def _is_by_provider(call: Mapping[Any, Any]) -> bool:
    return name_of(call.get("type")) in _PROVIDER_CALL_TYPES or any(call.get(key) is True for key in _PROVIDER_KEYS)


def _name_in_type(node: Mapping[Any, Any]) -> str | None:
    """The tool's name in the type of a part: `web_search_call`, or `tool-<name>` as Vercel's AI SDK shows it to users."""
    kind = node.get("type")
    if type(kind) is not str:
        return None
    if kind in _ANSWERED_CALL_TYPES or kind in _BUILT_IN_CALL_TYPES:
        return kind.removesuffix(_ANSWERED_CALL)
    if kind in _HOSTED_CALL_TYPES:
        return kind.removesuffix(_HOSTED_CALL)
    return name_of(kind[5:]) if kind.startswith("tool-") and "state" in node else None
