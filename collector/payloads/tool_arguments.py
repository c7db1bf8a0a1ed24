"""Finds a tool's own arguments in what frameworks record as its input: their wrappers, envelopes and schemas.

Bounded, and never raises. What cannot be told from the recording is None, never an empty object: a call without
arguments and a call whose arguments are unknown are not the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from collector.payloads.values import UNREADABLE, first_name, name_of, parse_any, parse_repr

MAX_WRAPPERS: Final = 4
"""How many wrappers are taken off, one inside the other."""
_WRAPPERS: Final = (
    "input", "inputs", "arguments", "args", "kwargs", "parameters", "params", "tool_input", "toolInput", "raw_input",
    "tool_args",
)  # fmt: skip
_ENVELOPE: Final = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
"""Keys of a recorded Python call."""
_TYPED: Final = frozenset({"type", "value"})
"""Keys of an input that is recorded with its type."""
_NAMES_OF_ARGUMENTS: Final = (
    "argument_keys", "argument_names", "arg_keys", "arg_names", "args_keys", "arguments_keys", "input_keys", "param_names",
    "argumentKeys", "argumentNames", "argKeys", "argNames", "inputKeys",
)  # fmt: skip
_CALL_KEYS: Final = ("arguments", "args", "input", "params", "parameters")
_OF_CREW: Final = "{'input': {"
RECORDS: Final = ('{"input_str"', _OF_CREW)
"""How the record of a call around arguments begins: of LangChain's callback (OpenLLMetry's, under names of others such as
Netra's), and of `CrewStructuredTool.invoke` (CrewAI 1.x under Splunk's instrumentation 0.1)."""
_CREW_USE: Final = '{"tool_string"'
_CREW_CALLING: Final = re.compile(r"tool_name='[^']{1,256}' arguments=(\{.*\})", re.DOTALL)
_SECURITY: Final = "security_context"
_FINGERPRINTS: Final = frozenset({"agent_fingerprint", "task_fingerprint"})
"""What CrewAI adds to the arguments, and the tool does not take."""
_WITH_OPTIONS: Final = {"input", "options"}  # BeeAI: how to run the tool, which is no argument of it
_CONTEXT_OF_CALL: Final = (
    "toolCallId",
    "tool_call_id",
    "toolCall",
    "abortSignal",
)  # Vercel AI SDK, Mastra, LangChain JS
_WHOLE_CALLS: Final = ({"name", "arguments"}, {"name", "description", "parameters"})  # MCP; VeADK
_CALL_NAMES: Final = ("name", "toolName", "tool_name", "tool")
_CALL_IDS: Final = ("id", "callId", "call_id", "toolCallId", "tool_call_id", "tool_use_id", "type", "method")
_MAYBE_WRAPPED: Final = re.compile(
    rf"\[|\{{\s*[\"'](?:{'|'.join(_WRAPPERS)}|messages|properties|type|\$schema)[\"']\s*:"
    r"|[\"'](?:kwargs|callId|arguments|args|parameters|properties)[\"']\s*:| object at 0x"
)
_OBJECT: Final = re.compile(r"<[\w.<>\[\] ,]{1,200} object at 0x[0-9a-fA-F]{4,16}>")
_LOOKED_AT: Final = 4_096
_PLAIN_SCHEMA: Final = frozenset({
    "type", "title", "description", "default", "anyOf", "nullable", "items", "properties", "required", "additionalProperties",
    "$schema",
})  # fmt: skip
_TYPES_OF: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip
_LIKE_A_SCALAR: Final = re.compile(
    r"\d|^\s*+[+-]?(?:nan|inf(?:inity)?|true|false|yes|no|on|off|t|f|y|n)?\s*+$", re.IGNORECASE
)
_ROLES: Final = ("role", "type")
"""Keys, one of which every message of a conversation has."""


def tool_arguments(value: object, schema: object = None, tool: str | None = None) -> object:
    """Returns the arguments in ``value``, unwrapped, or ``value`` itself; None for a schema, or if they cannot be told.

    ``schema`` is what was recorded of the tool's parameters, a JSON Schema with or without its envelope. ``tool`` is its name.
    """
    # Most arguments have no wrapper. They stay text, since parsing is left to reconstruction.
    if type(value) is str and _MAYBE_WRAPPED.search(value, 0, _LOOKED_AT) is None:
        return value
    names = schema_names(schema)
    found = parse_any(value)
    for _ in range(MAX_WRAPPERS):
        inner = _unwrapped(found, names, tool)
        if inner is found:
            break
        found = inner
    if isinstance(found, Mapping):
        return (
            None if _is_whole_schema(found) or _is_conversation(found) or is_summary(found) else _without_objects(found)
        )
    return value if isinstance(found, str) else found


def arguments_among(inputs: Iterable[object], name: str | None) -> object:
    """Returns the first of ``inputs`` that holds arguments; schemas among them name those that were given by position.

    A text that is no object is returned only if no other holds one, and if it is not the tool's ``name``.
    """
    inputs = list(inputs)
    schema = next((value for value in inputs if is_schema(value)), None)
    texts = []
    for value in inputs:
        if value is schema:
            continue
        arguments = tool_arguments(value, schema)
        if isinstance(parse_any(arguments), Mapping):
            return arguments
        if arguments is not None and arguments != name:
            texts.append(arguments)
    return texts[0] if texts and not isinstance(texts[0], (bool, int, float)) else None


def tool_among(inputs: Iterable[object]) -> str | None:
    """Returns the tool's name where one of ``inputs`` is the parameters of MCP's ``tools/call``: a name and arguments."""
    for value in inputs:
        call = parse_any(value)
        if isinstance(call, Mapping) and {"name", "arguments"} <= call.keys() <= {"name", "arguments", "_meta"}:
            return name_of(call["name"])
    return None


def is_positional(value: object) -> bool:
    """Whether ``value`` holds arguments that are given by position: which parameter is which, only a schema tells."""
    parsed = parse_any(value)
    if isinstance(parsed, Mapping) and parsed.keys() <= _ENVELOPE:
        parsed = parse_any(parsed.get("args"))
    return isinstance(parsed, (list, tuple)) and bool(parsed)


def is_schema(value: object) -> bool:
    """Whether ``value`` describes parameters instead of holding them: a JSON Schema, its properties alone, or Zod's."""
    parsed = parse_any(value)
    if not isinstance(parsed, Mapping) or not parsed:
        return False
    return _is_whole_schema(parsed) or all(
        isinstance(item, Mapping) and isinstance(item.get("type"), (str, list)) for item in parsed.values()
    )


def fits_parameters(arguments: object, schema: object) -> bool | None:
    """Returns whether a tool with these parameters, a JSON Schema, takes the arguments; None if that cannot be told.

    Only what all frameworks agree on is looked at: which parameters are required, and plain types.
    """
    given, declared = parse_any(arguments), parse_any(schema)
    if not isinstance(given, Mapping) or not isinstance(declared, Mapping):
        return None
    parameters, required = declared.get("properties"), declared.get("required", [])
    if not isinstance(parameters, Mapping) or not isinstance(required, list):
        return None
    missing = [name for name in required if type(name) is str and name not in given]
    if missing:  # strict schemas require what has a default as well
        return None if all(_has_default(parameters.get(name)) for name in missing) else False
    if any(_cannot_be(value, parameters.get(name)) for name, value in given.items()):
        return False
    return True if all(_is_plainly(value, parameters.get(name)) for name, value in given.items()) else None


def _cannot_be(value: object, schema: object) -> bool:
    """Whether nobody takes the value for the number or the truth value that the schema asks for, however lenient."""
    kind = _kind_of(schema) if isinstance(schema, Mapping) else None
    if kind not in ("integer", "number", "boolean"):
        return False
    if type(value) is str:
        return _LIKE_A_SCALAR.search(value) is None
    return isinstance(value, (Mapping, list))


def _has_default(schema: object) -> bool:
    return isinstance(schema, Mapping) and ("default" in schema or _is_plainly(None, schema))


def _is_plainly(value: object, schema: object) -> bool:
    """Whether the value is what the schema asks for, which asks for no more than a type, or for one of several."""
    if not isinstance(schema, Mapping) or not schema.keys() <= _PLAIN_SCHEMA:
        return False
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return any(_is_of_type(value, choice) for choice in choices)
    return _is_of_type(value, schema) or (value is None and schema.get("nullable") is True)


def _is_of_type(value: object, schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kind = _kind_of(schema)
    if isinstance(value, Mapping) and kind == "object":
        return fits_parameters(value, schema) is True if schema.get("properties") else True
    if isinstance(value, list) and kind == "array":
        items = schema.get("items")
        # Objects in lists are not looked at: there may be any number, each against any number of parameters.
        return not items or not any(isinstance(one, (Mapping, list)) or not _is_of_type(one, items) for one in value)
    return kind is not None and type(value) in _TYPES_OF.get(kind, ())


def _kind_of(schema: Mapping[Any, Any]) -> str | None:
    kind = schema.get("type")
    return kind.lower() if isinstance(kind, str) else None  # Gemini's are in capitals


def is_summary(value: object) -> bool:
    """Whether an object tells of arguments instead of holding them: only their names, in a list."""
    return isinstance(value, Mapping) and any(isinstance(value.get(key), (list, tuple)) for key in _NAMES_OF_ARGUMENTS)


def _is_whole_schema(value: Mapping[Any, Any]) -> bool:
    if isinstance(value.get("properties"), Mapping) and value.get("type", "object") == "object":
        return True
    return "$schema" in value or (value.get("type") == "object" and isinstance(value.get("def"), Mapping))


def _is_conversation(value: Mapping[Any, Any]) -> bool:
    """Whether ``value`` is the conversation in which a tool was called, and no input of the tool."""
    messages = value.get("messages") if len(value) == 1 else None
    if not isinstance(messages, (list, tuple)) or not messages:
        return False
    return all(isinstance(message, Mapping) and any(key in message for key in _ROLES) for message in messages)


def schema_names(schema: object) -> tuple[str, ...]:
    """Returns the names of the parameters that a schema describes, in its order; empty if it is none."""
    parsed = parse_any(schema)
    if not isinstance(parsed, Mapping) or not is_schema(parsed):
        return ()
    inner = parsed.get("properties")
    if not isinstance(inner, Mapping):
        zod = parsed.get("def")
        inner = zod.get("shape") if isinstance(zod, Mapping) else None if "$schema" in parsed else parsed
    return tuple(key for key in inner if isinstance(key, str)) if isinstance(inner, Mapping) else ()


def _unwrapped(value: Any, names: Sequence[str], tool: str | None) -> Any:
    """Returns what is inside the outermost wrapper of ``value``; ``value`` itself if it has none."""
    if isinstance(value, (list, tuple)):
        only = _in_message_to_tool(value) or _beside_context(value)
        return _of_positions(value, {}, names) if only is None else only
    if not isinstance(value, Mapping):
        return value
    if value.keys() == _TYPED and value["type"] in ("json", "text") and not _TYPED & set(names):
        parsed = parse_any(value["value"])  # LangChain's input is the repr of an object
        return parsed if isinstance(parsed, Mapping) else value
    if value.keys() <= _ENVELOPE and isinstance(value.get("kwargs"), Mapping):
        positions = parse_any(value.get("args"))
        return _of_positions(positions if isinstance(positions, (list, tuple)) else (), value["kwargs"], names)
    if len(value) == 1:
        key, inner = next(iter(value.items()))
        if key not in _WRAPPERS or key in names:  # a tool may have a parameter of that name, as its schema tells
            return value
        parsed = parse_any(inner)
        if isinstance(parsed, (list, tuple)):
            parsed = _beside_context(parsed)
        return parsed if isinstance(parsed, Mapping) else value
    if value.keys() == _WITH_OPTIONS and value["options"] is None and isinstance(value["input"], Mapping):
        return value if _WITH_OPTIONS & set(names) else value["input"]
    return _inside_call(value, names, tool)


def _in_message_to_tool(messages: Sequence[Any]) -> Mapping[Any, Any] | None:
    """Returns the object that is the content of the only message, which is to a tool or of one; None if there is none."""
    if len(messages) != 1 or not isinstance(messages[0], Mapping) or messages[0].get("role") != "tool":
        return None
    content, parts = messages[0].get("content"), messages[0].get("parts")
    if content is None and isinstance(parts, (list, tuple)) and len(parts) == 1 and isinstance(parts[0], Mapping):
        content = parts[0].get("arguments") if parts[0].get("type") == "tool_call" else None
    content = parse_any(content)
    return content if isinstance(content, Mapping) else None


def _beside_context(values: Sequence[Any]) -> Mapping[Any, Any] | None:
    """Returns the arguments of a JavaScript function that was given them and the context of the call; None for any other."""
    if len(values) < 2 or not all(isinstance(value, Mapping) for value in values):
        return None
    is_context = any(key in value for value in values[1:] for key in _CONTEXT_OF_CALL)
    return values[0] if is_context else None


def _inside_call(value: Mapping[Any, Any], names: Sequence[str], tool: str | None) -> Any:
    """Returns the arguments of a recorded request: an object with a tool's name, its arguments, and an id or a type."""
    # A name beside an input is not enough, nor that of anything else: a tool may take arguments of these names.
    is_whole = value.keys() in _WHOLE_CALLS
    named = first_name(value, _CALL_NAMES)
    if named is None or set(names) & value.keys() or not (is_whole or any(key in value for key in _CALL_IDS)):
        return value
    if is_whole and tool is not None and not is_name_of(named, tool):
        return value
    for key in _CALL_KEYS:
        parsed = parse_any(value.get(key))
        if isinstance(parsed, Mapping):
            return parsed
    return value


def is_name_of(named: str, tool: str) -> bool:
    """Whether both name one tool: before the name of an MCP server's tool frameworks put the server's, and a separator.

    `research` is no `search` of any server.
    """
    shorter, longer = sorted((named.lower(), tool.lower()), key=len)
    return longer == shorter or (longer.endswith(shorter) and not longer[: -len(shorter)][-1].isalnum())


def _of_positions(values: Sequence[Any], named: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """Returns arguments by name, some of which were given by position; None if the schema does not name those."""
    if not values:
        return named if isinstance(named, Mapping) else None
    if len(values) <= len(names):
        return {**dict(zip(names, values, strict=False)), **named}
    only = parse_any(values[0])
    return only if len(values) == 1 and not named and isinstance(only, Mapping) else None


def _without_objects(arguments: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Leaves out what a framework injected: no model can send a Python object."""
    injected = [key for key, value in arguments.items() if type(value) is str and _OBJECT.fullmatch(value)]
    return {key: value for key, value in arguments.items() if key not in injected} if injected else arguments


def keyword_arguments(given: object) -> object:
    """Returns the ``kwargs`` where a decorator recorded a Python call as its ``args`` and ``kwargs``, and all are by name.

    Everything else is returned as it is.
    """
    record = parse_any(given)
    is_named = isinstance(record, Mapping) and record.keys() == {"args", "kwargs"} and not record["args"]
    return record["kwargs"] if is_named else given


def arguments_of_record(text: str) -> tuple[object, str | None]:
    """Returns the arguments, and the call's id if it is known, in a text that begins with one of ``RECORDS``."""
    record = parse_any(text)
    if not isinstance(record, Mapping):
        return text, None
    if not text.startswith(_OF_CREW):
        return arguments_of_callback(record)
    given = record.get("input")
    if not isinstance(given, Mapping) or len(record) > 1:
        return text, None
    context = given.get(_SECURITY)
    if not isinstance(context, Mapping) or not context.keys() <= _FINGERPRINTS:
        return text, None
    return {key: value for key, value in given.items() if key != _SECURITY}, None


def arguments_of_crew(given: object) -> object:
    """Returns the arguments in the recorded input of CrewAI's `ToolUsage._use` (0.2xx), which no model wrote like that.

    Everything else is returned as it is.
    """
    if type(given) is not str or not given.startswith(_CREW_USE):
        return given
    record = parse_any(given)
    calling = record.get("calling") if isinstance(record, Mapping) else None
    match = _CREW_CALLING.match(calling) if type(calling) is str else None
    arguments = None if match is None else parse_repr(match[1])
    return UNREADABLE if arguments is None else arguments


def arguments_told(messages: object) -> object:
    """Returns the arguments in the input of a call that is one message of the tool; else None.

    It is the message (TanStack AI 0.58), or the call is a part of it (Strands 1.34 with the conventions of its day).
    """
    parsed = parse_any(messages) if messages else None
    return _in_message_to_tool(parsed) if isinstance(parsed, list) else None


def arguments_of_callback(record: Mapping[Any, Any]) -> tuple[object, str | None]:
    """Returns what LangChain's callback, recorded whole, tells of a call: the arguments, and the id if it has one."""
    inputs, text, kwargs = record.get("inputs"), record.get("input_str"), record.get("kwargs")
    if not isinstance(inputs, Mapping) and isinstance(text, str):
        inputs = parse_repr(text)
    if isinstance(inputs, Mapping):
        inputs = {key: value for key, value in inputs.items() if not _is_injected(value)}
    return inputs, name_of(kwargs.get("tool_call_id")) if isinstance(kwargs, Mapping) else None


def _is_injected(value: object) -> bool:
    """Whether the value is LangChain's messages, or a graph's state with them: LangGraph gives it to a tool that declares
    `InjectedState`, and no model writes it. LangChain before 1.0 records it among the arguments.
    """
    messages = value.get("messages") if isinstance(value, Mapping) else value
    return isinstance(messages, list) and bool(messages) and all(_is_langchain_object(one) for one in messages)


def _is_langchain_object(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("lc") == 1 and value.get("type") == "constructor"
