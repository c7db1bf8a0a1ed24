"""Calls in words of a sender's own, known by the id that a model's provider gave them: ``call_5fR...``, ``toolu_01...``.

Beside such an id stand the name of the tool and its arguments, whatever their keys. A word for each is looked for among
more words than `attribute_shapes` knows: `job` or `spec` say something of a call only where an id says that there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import filterfalse, islice
from typing import Any, Final

from collector.payloads.attribute_shapes import (
    MAX_KEY,
    MAX_LOOKED_AT,
    Meaning,
    meaning_of,
    shape_of,
    typed_values,
    words_of,
)
from collector.payloads.flattened_attributes import FlattenedAttributes, unflatten
from collector.payloads.span_names import function_in_path, role_of_kind
from collector.payloads.values import parse_any, parse_json

MARKER: Final = b"call_"
"""Every span with an id contains this, or the word `tool`."""
_ID: Final = re.compile(r"(?:call_|toolu_|tooluse_|chatcmpl-tool-)(?=\w*[0-9A-Z])[\w-]{1,120}")
FUNCTION_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_NAMED: Final = (
    "tool", "function", "fn", "func", "skill", "capability", "action", "operation", "op", "job", "task",
    "command", "cmd", "method", "handler", "do", "name", "type",
)  # fmt: skip
"""Ends of the key of the tool's name, the most telling first."""
_INPUT: Final = frozenset({
    "in", "input", "inputs", "arg", "args", "argument", "arguments", "kwargs", "param", "params", "parameter", "parameters",
    "payload", "spec", "given", "with", "using", "request", "data",
})  # fmt: skip
_OVER_INPUT: Final = frozenset({
    "in", "given", "with", "using", "spec", "arg", "argument", "param", "parameter", "tool_arguments", "tool_args",
    "tool_input",
})  # fmt: skip
"""Words over arguments, whole or in an attribute each, besides those under which other attributes may say something as well."""
_PERHAPS_INPUT: Final = frozenset({"data", "vars", "variables", "slots", "kw"})
"""Words over what a call was given, where nothing is under one that is for this alone."""
_PARAMETERS: Final = frozenset({"input", "inputs", "arg", "args", "arguments", "params", "parameters"})
"""Words over arguments beside an id, with which nothing else is said under them."""
_EACH: Final = ("args.", "arg.", "params.", "param.")
_DOING: Final = frozenset({
    "call", "exec", "execute", "execution", "run", "invoke", "invocation", "step", "act", "action", "tool", "task", "job",
    "dispatch", "attempt", "handler", "function", "operation", "process", "work", "request", "span", "event", "command",
    "stage", "node", "unit", "activity",
})  # fmt: skip
"""Names of spans that are no tool's."""
_OUTPUT: Final = frozenset({
    "out", "output", "outputs", "result", "results", "got", "returned", "return", "product", "reply", "response", "answer",
})  # fmt: skip
_OF_ACTION: Final = re.compile(r"^(?:action|act)[:/] ?|^(?:invoke|call|run|execute|exec) ", re.IGNORECASE)
_METHOD: Final = re.compile(r"[A-Z]\w*\.[A-Z]\w*")
"""A method of a class, `Stock.Count`: what its tool is called, `stock_count`, only the loop knows."""
_IS_DONE: Final = re.compile(r"(?:invoke|call|run|execute|exec) [A-Za-z_][\w-]*", re.IGNORECASE)
_UNTOLD: Final = "untold"
_OTHER: Final[frozenset[Meaning]] = frozenset(
    {"kind", "model", "agent", "conversation", "status", "success", "failure", "output"}
)
"""What a key with these words says is something else than the name of a tool."""


def is_call_id(value: object) -> bool:
    """Whether a value is the id of a call in the form of a provider of models."""
    return type(value) is str and _ID.fullmatch(value) is not None


def _identified_call(attributes: Mapping[str, Any], own_name: str) -> dict[Meaning, list[Any]]:
    """Returns id, name, input and output of the one call of which an attribute is the id; nothing if only the id is there.

    ``own_name`` is that of the span: of the tool, if no attribute may be it.
    """
    looked_at = dict(islice(attributes.items(), MAX_LOOKED_AT))
    ids = {value: key for key, value in looked_at.items() if is_call_id(value)}
    if len(ids) != 1:
        return {}
    ((call_id, key),) = ids.items()
    # What has the words of the id is about the call; else all is.
    beginning = key[: key.rfind(".") + 1]
    beside = {key: value for key, value in looked_at.items() if key.startswith(beginning)}
    described = _described(beside, own_name) or _described(looked_at, own_name)
    return {"call_id": [call_id], **described} if described else {}


def _described(attributes: Mapping[str, Any], own_name: str) -> dict[Meaning, list[Any]]:
    whole, inputs, outputs = _parted(attributes)
    if not inputs:
        inputs = _groups(whole, _PARAMETERS)
        whole = {key: value for key, value in whole.items() if not any(map(key.startswith, inputs))}
    name = _name_among(whole) or _name_of_span(own_name)
    objects = {key: value for key, value in whole.items() if _is_object(value)}
    given = _of_words(objects, _INPUT) or [value for key, value in objects.items() if _end_of(key) not in _OUTPUT]
    returned = [*_of_words(whole, _OUTPUT), *map(_object_of, outputs.values())]
    if name is None or not (inputs or given or returned):
        return {}  # what is sent to a queue has an id, and a name which is the queue's
    found: dict[Meaning, list[Any]] = {"tool_name": [name]}
    given = given or list(filter(None, map(_object_of, inputs.values())))
    if len(given) == 1:
        found["input"] = given
    # Without a result that is known as one, nothing beside the id tells what came of the call.
    found.update({"output": returned[:1]} if returned else {"status": [_UNTOLD]})
    return found


def _name_of_span(name: str) -> str | None:
    """Returns the name of a span that may be the name of its tool: one word that says more than that something is done."""
    name = function_in_path(_OF_ACTION.sub("", name, count=1) if len(name) <= MAX_KEY else name)
    return name if FUNCTION_NAME.fullmatch(name) is not None and words_of(name) not in _DOING else None


def is_doing(name: str) -> bool:
    """Whether a span has a name that says that something is done, and not what: `task`, `playbook.step`, `agent/run`.

    `PayAction` is a name of its own.
    """
    return re.split(r"[^A-Za-z0-9]", name[-MAX_KEY:])[-1].lower() in _DOING


def described_tool(attributes: Mapping[str, Any]) -> str | None:
    """Returns the tool of a call whose span says that it is one, and not under which key its tool is."""
    return _name_among(_parted(attributes)[0])


def tool_with_arguments(attributes: Mapping[str, Any], own_name: str) -> dict[Meaning, list[Any]]:
    """Returns name and input of a span that has arguments in an attribute each, `args.city` and `arg.host`; nothing without."""
    if _METHOD.fullmatch(own_name[:MAX_KEY]) is not None:
        return {}
    given = FlattenedAttributes()
    rest: dict[str, Any] = {}
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if key.startswith(_EACH):
            given[key.partition(".")[2]] = value
        elif "." not in key:
            rest[key] = value
    name = (_name_among(rest) or _name_of_span(own_name)) if given else None
    arguments = _object_of(given) if given else None
    if name is None or arguments is None:
        return {}
    call: dict[Meaning, list[Any]] = {"tool_name": [name], "input": [arguments]}
    # `invoke pay` is a call, whatever else is told of it.
    return {**call, "returned": [True]} if _IS_DONE.fullmatch(own_name[:MAX_KEY]) is not None else call


def described_input(attributes: Mapping[str, Any]) -> object:
    """Returns the input of a call whose span says that it is one: the only object under a word for it."""
    objects = {key: value for key, value in _parted(attributes)[0].items() if _is_object(value)}
    given = _of_words(objects, _OVER_INPUT) or list(filterfalse(_is_record, _of_words(objects, _PERHAPS_INPUT)))
    return given[0] if len(given) == 1 else None


def inputs_of_words(attributes: Mapping[str, Any]) -> list[Any]:
    """Returns the values under words for an input."""
    return _of_words(dict(islice(attributes.items(), MAX_LOOKED_AT)), _INPUT)


def described_output(attributes: Mapping[str, Any]) -> object:
    """Returns the result of a call whose span says that it is one: the only value under a word for it."""
    returned = _of_words(attributes, _OUTPUT)
    return returned[0] if len(returned) == 1 else None


def _is_record(value: object) -> bool:
    """Whether an object tells of a call, and is no input of it."""
    keys = parse_any(value)
    return not isinstance(keys, Mapping) or any(meaning_of(key) in ("kind", "tool_name") for key in map(str, keys))


def _parted(
    attributes: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, FlattenedAttributes], dict[str, FlattenedAttributes]]:
    """Returns the attributes that are no part of a flattened input or output, these inputs, and these outputs."""
    looked_at = dict(islice(attributes.items(), MAX_LOOKED_AT))
    inputs, outputs = _groups(looked_at, _OVER_INPUT), _groups(looked_at, _OUTPUT)
    whole = {key: value for key, value in looked_at.items() if not any(map(key.startswith, (*inputs, *outputs)))}
    return whole, inputs, outputs


def with_identified_call(
    values: dict[Meaning, list[Any]], attributes: Mapping[str, Any], own_name: str = ""
) -> dict[Meaning, list[Any]]:
    """Returns ``values`` with what an id in the attributes tells of a call, unless their words tell its tool already."""
    return values if "tool_name" in values else {**_identified_call(attributes, own_name), **values}


def identified_requests(attributes: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the calls that a model asked for: a list of objects, each with an id, a tool's name and arguments."""
    for value in islice(attributes.values(), MAX_LOOKED_AT):
        if type(value) is str and value[:2] == "[{":
            calls = parse_json(value)
            found = [_request(call) for call in calls[:MAX_LOOKED_AT]] if isinstance(calls, list) else []
            if found and all(found):
                return [call for call in found if call is not None]
    return None


def grouped_arguments(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns arguments that were flattened under a word for all, ``act.given.city`` and ``in.stops.0``.

    None if there are none or two such groups, or if nothing tells text from numbers.
    """
    groups = _groups(dict(islice(attributes.items(), MAX_LOOKED_AT)), _OVER_INPUT)
    return _object_of(next(iter(groups.values()))) if len(groups) == 1 else None


def _request(call: object) -> dict[str, Any] | None:
    if not isinstance(call, Mapping) or not all(type(key) is str for key in call):
        return None
    ids = [value for value in call.values() if is_call_id(value)]
    objects = [value for value in call.values() if isinstance(value, Mapping)]
    name = _name_among(call)
    if len(ids) != 1 or len(objects) != 1 or name is None:
        return None
    return {"type": "tool_call", "id": ids[0], "name": name, "arguments": objects[0]}


def _name_among(attributes: Mapping[str, Any]) -> str | None:
    """Returns the value under the most telling key, or the only one that can be a name."""
    names: dict[str, str] = {}
    for key, value in attributes.items():
        shape, end = shape_of(key), _end_of(key)
        is_other = (shape is not None and shape.meaning in _OTHER and end not in _NAMED) or end in _OUTPUT
        is_other = is_other or is_call_id(value) or role_of_kind(value) is not None
        if type(value) is str and not is_other and FUNCTION_NAME.fullmatch(value) is not None:
            names.setdefault(end, value)
    for word in _NAMED:
        if word in names:
            return names[word]
    return next(iter(names.values())) if len(names) == 1 else None


def _end_of(key: str) -> str:
    """Returns the last word of a key."""
    return words_of(key).rpartition("_")[2]


def _of_words(attributes: Mapping[str, Any], words: Iterable[str]) -> list[Any]:
    return [value for key, value in attributes.items() if _end_of(key) in words and value is not None]


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping) or (type(value) is str and isinstance(parse_json(value), Mapping))


def _groups(attributes: Mapping[str, Any], words: Iterable[str]) -> dict[str, FlattenedAttributes]:
    """Returns the attributes under one of the words, by the beginning of their keys: `act.given.` for `act.given.city`."""
    groups: dict[str, FlattenedAttributes] = {}
    for key, value in attributes.items():
        parts = key.split(".") if len(key) <= MAX_KEY else []
        at = next((at for at, part in enumerate(parts[:-1], 1) if words_of(part) in words), None)
        if at is not None:
            beginning = ".".join(parts[:at]) + "."
            groups.setdefault(beginning, FlattenedAttributes())[key.removeprefix(beginning)] = value
    return groups


def _object_of(group: FlattenedAttributes) -> dict[str, Any] | None:
    typed = typed_values(group)
    value = None if typed is None else unflatten(FlattenedAttributes(typed))
    return value if isinstance(value, dict) else None
