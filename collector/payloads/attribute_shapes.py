"""What the attributes of a span are about, by the words of their keys: a tool's name, a call's id, an input.

Tracers that follow no convention choose the same words, in another order and under prefixes of their own:
``tool_name``, ``acme.tool.name`` and ``toolName`` are one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from collector.payloads.languages import in_english, without_accents
from collector.payloads.values import name_of, parse_any, parse_json

MAX_KEY: Final = 128
"""Longest key that is looked at, in characters."""
MAX_LOOKED_AT: Final = 500
"""Attributes of a span of which the words are looked at: it takes 20 µs for each. SDKs keep 128 by default."""

Meaning = Literal[
    "kind", "tool_name", "name", "call_id", "input", "output", "success", "failure", "status", "agent", "user_input",
    "conversation", "returned", "model", "denied", "allowed", "executed",
]  # fmt: skip
Tells = Literal["never", "object", "always"]
Values = Mapping[Meaning, Sequence[Any]]
"""Attributes by what they are about, the most believable first."""


class Shape(NamedTuple):
    """What a key is about. Of two keys about the same thing, that with the lower ``rank`` is believed."""

    meaning: Meaning
    rank: int = 0


_MEASURES: Final = "duration|latency|elapsed|bytes|size|length|chars|exit_code"
_CALL: Final = r"(?:tool|function|tool_call|function_call|tool_use|mcp_tool)"
_STEP: Final = "tool|call|result|execution|action|skill|task|step|function|command|operation|plugin"
_FAILURES: Final = "err|exc|exception|fault|problem|failure|raised|threw|crashed"
_FAILURE_WORDS: Final = (
    r"is_failure|has_failed|error_(?:code|msg|text|details?|reason|description)|err_(?:message|msg)|exception_message"
    r"|failure_(?:reason|message)"
)
_OF_ONE: Final = r"(?:tool|function|call|tool_use|execution|action)"
# The first pattern that matches decides, so the more specific ones come first.
_WORDS: Final[tuple[tuple[str, Meaning, int], ...]] = (
    (r"span_kind|span_type|span_attributes|observation_type|run_type|step_type|node_type|opik_type", "kind", 0),
    (
        r"operation_name|operation_type|operation|(?<!mime_)(?<!entity_)(?<!usage_)kind|event_type|log_type|mcp_method",
        "kind",
        1,
    ),
    # Of a framework: alone, or of a service, it is the library or the part of an application that a span is of.
    (r"(?<=[^_]_)(?<!app_)(?<!service_)(?<!system_)component", "kind", 1),
    # The convention `code.function.name` is a place in the source code, and NeMo's `nat.function.name` what made the call.
    (
        rf"(?<!code_)(?<!nat_)(?<!aiq_){_CALL}_(?:call_|definition_|function_|call_function_|invocation_)?name",
        "tool_name",
        0,
    ),
    (r"name_tool|skill_name", "tool_name", 0),  # `nom_outil`
    (r"tool_function|skill_id", "tool_name", 1),
    # Keys such as `use_tool` and `is_tool` hold no name, and `unknown_tool` that of none.
    (r"(?<!use_)(?<!has_)(?<!is_)(?<!select_)(?<!unknown_)(?<!missing_)(?<!no_such_)tool", "tool_name", 1),
    (r"(?:tool|function)_(?:call_|use_|invocation_|execution_)id|call_id", "call_id", 0),
    (rf"{_CALL}_(?:call_)?(?:arguments|args|inputs?|kwargs|input_value|(?:input|args|arguments)_json)", "input", 0),
    (r"input_parameters|input_json|input_body|skill_(?:args|arguments|inputs?|params)", "input", 0),
    (r"arguments|args|kwargs|inputs?|input_value|raw_input|input_data", "input", 1),
    (rf"(?:{_CALL}_)?(?:call_)?(?:parameters|params)", "input", 2),
    # The beginning of it: read only if nothing was cut off.
    (rf"(?:{_CALL}_)?(?:arguments|args|inputs?|parameters|params)_preview", "input", 3),
    (r"(?:input|llm|chat|model|prompt|request)_messages|request_body", "input", 3),
    (rf"{_CALL}_(?:call_)?(?:results?|outputs?|response)", "output", 0),
    (r"results?|outputs?|output_value|output_json|return|return_value|observation", "output", 1),
    (r"(?:llm|model|chat|assistant)_(?:reply|answer)", "output", 2),
    (r"output_body|skill_(?:results?|outputs?)", "output", 1),
    (r"output_messages|completions?|response|response_(?:body|text|message)|output_text|choices", "output", 2),
    (r"success|succeeded|is_success|(?:tool|call|result)_ok", "success", 0),
    # What is measured of a call when it has returned, and of a request to a model.
    (rf"(?:tool|results?|outputs?)_(?:{_MEASURES})(?:_(?:ms|s|bytes|chars))?", "returned", 0),
    (
        r"(?:prompt|completion|input|output)_tokens|tokens?_(?:count_)?(?:prompt|completion|input|output|total)",
        "model",
        0,
    ),
    (r"finish_reasons?|stop_reason|request_model|response_model|llm_(?:provider|model|model_name)", "model", 0),
    (_FAILURE_WORDS, "failure", 1),
    (r"exit_code|return_code|exit_status", "status", 1),
    (rf"is_error|has_error|failed|tool_error|error|error_message|tool_error_type|{_CALL}_exception", "failure", 0),
    (rf"(?:{_STEP}|tool_use|tool_call|function_call)_(?:{_FAILURES})", "failure", 0),
    (rf"(?:{_STEP})_(?:status|outcome|state)|outcome", "status", 0),
    (r"(?:tool_|call_)?permission|(?:permission|approval|policy)_decision", "status", 0),
    (r"(?:tool|call|execution|decision|policy|permission|approval|guardrail)_verdict", "status", 0),
    (r"verdict", "status", 1),
    (rf"{_OF_ONE}_(?:blocked|denied|rejected|refused|declined|vetoed|skipped|missing|unknown)", "denied", 0),
    (rf"{_OF_ONE}_(?:approved|allowed|permitted|authorized|known)|approval_granted", "allowed", 0),
    (rf"{_OF_ONE}_executed", "executed", 0),
    (r"subspan_name", "name", 0),
    (r"agent_name", "agent", 0),
    (r"user_(?:input|prompt|message|query|text)|prompt|question|query", "user_input", 0),
    (r"(?:conversation|session|thread|chat)_id", "conversation", 0),
)
_SHAPES: Final = tuple(
    (re.compile(rf"(?:^|_)(?:{pattern})$"), Shape(meaning, rank)) for pattern, meaning, rank in _WORDS
)
_WHOLE_KEYS: Final = {
    "type": Shape("kind", 2),
    "name": Shape("name"),
    "agent": Shape("agent", 1),
    "status": Shape("status", 1),
    "state": Shape("status", 1),
    "ok": Shape("success"),
    "executed": Shape("executed"),
    "ran": Shape("executed"),
    "returned": Shape("output", 1),
    **dict.fromkeys(_FAILURES.split("|"), Shape("failure", 1)),
    "denied": Shape("denied"),
    "rejected": Shape("denied"),
    "blocked": Shape("denied"),
}

# `output.messages.0.message.tool_calls.0.tool_call.function.name`: what is said in a conversation is no part of a call.
_IN_CONVERSATION: Final = re.compile(r"(?:messages|prompts?|completions?|choices|candidates)_\d+_")

_MAX_WORDS: Final = 6  # of the longest pattern, with what may not precede it

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9]+")


def words_of(text: str) -> str:
    """Returns the words of a name in lower case, joined by underscores: ``toolName`` and ``tool.name`` are ``tool_name``."""
    # Nothing is called by more words than these, and senders choose the length of names.
    return _words_of(text[: 2 * MAX_KEY])


# Each key of a span is looked at for several things.
@lru_cache(maxsize=4096)
def _words_of(text: str) -> str:
    plain = text if text.isascii() else without_accents(text)
    return in_english(_SEPARATORS.sub("_", _CAMEL.sub("_", plain)).strip("_").lower())


# Bounded: tracers repeat their keys, but senders may invent any number of them.
@lru_cache(maxsize=4096)
def shape_of(key: str) -> Shape | None:
    """Returns what the attribute ``key`` is about; None if its words do not say."""
    if len(key) > MAX_KEY:
        return None
    words = words_of(key)
    if words in _WHOLE_KEYS:
        return _WHOLE_KEYS[words]
    if _IN_CONVERSATION.search(words) is not None:
        return None
    # What a key is about is at its end. Each word more is a place where all patterns are tried.
    end = "_".join(words.rsplit("_", _MAX_WORDS)[-_MAX_WORDS:])
    shape = next((shape for pattern, shape in _SHAPES if pattern.search(end)), None)
    # `arguments.error` (mcp-agent) is what the tool was given.
    return None if shape is not None and shape.meaning in _OUTCOMES and _UNDER.search(key) is not None else shape


def meaning_of(name: str) -> Meaning | None:
    """Returns what an event of this name is about; None if its words do not say."""
    shape = shape_of(name)
    return None if shape is None else shape.meaning


def typed_tool_name(attributes: Mapping[str, Any]) -> object:
    """Returns the name of the entity that is a tool: ``entity.1.name`` beside a type, ``entity.1.type``, that begins so."""
    for key, value in attributes.items():
        if key.endswith((".type", ".kind")) and type(value) is str and words_of(value).split("_")[0] == "tool":
            name = attributes.get(f"{key[:-5]}.name")
            if name is not None:
                return name
    return None


_FUNCTION_KEYS: Final = frozenset({"function", "function_name", "fn", "fn_name", "func", "func_name"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w-]{0,255}")


def named_function(attributes: Mapping[str, Any]) -> object:
    """Returns the name under a key that says no more than that it is a function: in the span of a call, that of the tool."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if type(value) is str and words_of(key) in _FUNCTION_KEYS and _IDENTIFIER.fullmatch(value) is not None:
            return value
    return None


_CALL_KEY: Final = re.compile(r"(?:.*_)?(?:tool_call|tool_use|tool_invocation|function_call)")


def named_call(attributes: Mapping[str, Any]) -> str | None:
    """Returns the name under a word for a call: ``tool_call`` beside ``tool_call_args``."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if type(value) is str and _IDENTIFIER.fullmatch(value) is not None and _CALL_KEY.fullmatch(words_of(key)):
            return value
    return None


def values_by_meaning(attributes: Mapping[str, Any]) -> dict[Meaning, list[Any]]:
    """Returns the attributes that have a value, by what they are about, the most believable first."""
    found: dict[Meaning, list[tuple[int, int, str, Any]]] = {}
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        shape = shape_of(key) if value is not None and value != "" else None
        if shape is not None:
            found.setdefault(shape.meaning, []).append((shape.rank, len(key), key, value))
    return {meaning: [item[3] for item in sorted(items, key=lambda item: item[:3])] for meaning, items in found.items()}


def is_definition_of(name: str, values: Values) -> bool:
    """Whether the input of a span is the agent of that name with its tools, as the OpenAI Agents SDK describes one."""
    inputs = map(parse_any, values.get("input", ()))
    return any(
        isinstance(value, Mapping) and value.get("name") == name and isinstance(value.get("tools"), list)
        for value in inputs
    )


def tells_handoff(attributes: Iterable[str]) -> bool:
    """Whether one of these keys is that of the agent that a run was handed over to, as ``openai.agents.handoff.to`` is."""
    return any(words_of(key).endswith("handoff_to") for key in islice(attributes, MAX_LOOKED_AT))


# Objects that are about a call, and are not its input.
_ABOUT: Final = re.compile(
    r"(?:^|_)(?:meta|metadata|results?|outputs?|response|schema|definitions?|config|configuration|settings|options|usage"
    r"|headers|context|resource|tags|labels|errors?|exception|baggage|user|cost|tokens|trace|state|history|messages|info"
    r"|description|annotations|attributes|properties)(?:_|$)"
)
# `tool.args.city`, `mcp.request.argument.city`, and not `tool.args.count`.
_ONE_OF_THEM: Final = re.compile(
    rf"(?:^|_)(?:args?|arguments?|kwargs|{_CALL}_(?:call_)?(?:inputs?|params?|parameters?))_(?=[a-z])"
    r"(?!(?:\w+_)?(?:count|keys|length|len|size|bytes|hash|digest|sha256|truncated|preview|type|schema|redacted|chars"
    r"|tokens|captured|artifact_path)$)"
)

# `mcp.request.argument.city`: Sentry's instrumentations of MCP, and tracers of one's own.
_EACH: Final = re.compile(r"(?:^|[._])(?:(?:argument|arg|parameter|param)\.(?=\w)|inputs\.(?=[A-Za-z_]))([\w-]+)$")
# `paramCity`, where keys have no separators.
_CAMEL_EACH: Final = re.compile(r"(?:arg|param)([A-Z])(\w*)")
# `tool.args.city`: beside one that tells how many there are, all may be about them.
_UNDER: Final = re.compile(r"(?:^|[._])(?:args|arguments|kwargs|params|parameters|inputs?)\.([\w-]+)$")
_OUTCOMES: Final = ("success", "failure", "status")
# What may be a text or not: `7F3` and `2026-01-02` are texts to everybody.
_SCALAR: Final = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[tT]rue|[fF]alse|null|None")


class _Part(NamedTuple):
    """What a key may be of a call's input."""

    argument: str | None
    """The name of the one argument that it holds."""
    under: str | None
    """The same, or a word about all arguments: what follows the word for them."""
    is_one: bool
    """It holds one argument, or says something about all of them."""
    is_about: bool
    """It is about the call, and no part of its input."""


@lru_cache(maxsize=4096)
def _part_of(key: str) -> _Part:
    if len(key) > MAX_KEY:
        return _Part(None, None, False, True)
    words, each, shape = words_of(key), _EACH.search(key), shape_of(key)
    camel = _CAMEL_EACH.fullmatch(key) if shape is None else None
    under = _UNDER.search(key)
    is_about = _ABOUT.search(words) is not None or (shape is not None and shape.meaning != "input")
    is_one = _ONE_OF_THEM.search(words) is not None
    argument = each[1] if each is not None else None if camel is None else f"{camel[1].lower()}{camel[2]}"
    return _Part(argument, None if under is None else under[1], is_one, is_about)


def is_plain(key: str) -> bool:
    """Whether a key is no more than a word that says nothing, as a parameter's name may be: ``city``, and not ``geo.city``."""
    return "." not in key and shape_of(key) is None and not _part_of(key).is_about


def arguments_one_by_one(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments that have an attribute each; None if there are none, or nothing tells text from numbers."""
    looked_at = islice(attributes.items(), MAX_LOOKED_AT)
    return typed_values({name: value for key, value in looked_at if (name := _part_of(key).argument) is not None})


def arguments_under_one_key(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments of which each has an attribute under the word for all: ``tool.args.city``.

    None where an attribute there may say something about them, as ``tool.args.count`` does.
    """
    found: dict[str, Any] = {}
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        part = _part_of(key)
        if part.under is not None and part.is_one:
            found[part.under] = value
        elif part.under is not None and words_of(key).startswith(("tool_", "function_", "mcp_")):
            return None
    return typed_values(found)


def typed_values(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns arguments with the types that they had; None if there are none, or nothing tells text from numbers."""
    lists = (value for value in found.values() if isinstance(value, (list, tuple)))  # OTLP's lists are of one type
    if any(type(item) is str and _SCALAR.fullmatch(item) is not None for items in lists for item in items):
        return None
    texts = [value for value in found.values() if type(value) is str]
    # Some write every value as JSON, which shows in the quotes around a text, others only what is no text.
    are_json = any(text[:1] == '"' for text in texts)
    # Who writes numbers as numbers writes texts as texts.
    are_typed = any(isinstance(value, (bool, int, float)) for value in found.values())
    if not are_json and not are_typed and any(map(_SCALAR.fullmatch, texts)):
        return None
    parse = _json_or_text if are_json else parse_any
    return {name: parse(value) if type(value) is str else value for name, value in found.items()} or None


def _json_or_text(text: str) -> Any:
    value = parse_json(text)
    return text if value is None and text != "null" else value


def may_hold_arguments(attributes: Mapping[str, Any]) -> bool:
    """Whether attributes that say nothing else may be a call's input: one argument each, or an object under any key."""
    if len(attributes) > MAX_LOOKED_AT:
        return True
    for key, value in attributes.items():
        if value is None or value == "":
            continue
        is_object = value[:1] == "{" and value.strip() != "{}" if type(value) is str else isinstance(value, Mapping)
        part = _part_of(key)
        if part.is_one or (is_object and not part.is_about):
            return True
    return False


@lru_cache(maxsize=4096)
def may_tell_of_call(key: str) -> Tells:
    """Returns which values under this key may be a tool's name or a part of its input: none, objects alone, or any."""
    shape, part = shape_of(key), _part_of(key)
    if (
        (shape is not None and shape.meaning in ("tool_name", "input", "status"))
        or part.argument is not None
        or part.is_one
    ):
        return "always"
    return "never" if part.is_about else "object"


# ReAct agents, and those after them: `action` beside `action_input`, `agent.skill.name` beside `agent.skill.args`.
_ACTION_INPUT: Final = re.compile(
    r"((?:\w*_)?(?:action|skill|plugin))_(?:args|arguments|inputs?|params|parameters|kwargs|payload)"
)


def action_with_input(attributes: Mapping[str, Any], own_name: str) -> tuple[str, Any] | None:
    """Returns the action of which the input stands beside it under the same word, and its input; None if there is none.

    It may be in the name of the span, ``own_name``, behind the same word: ``plugin/pay``. What is dispatched to the store of
    an application has a path for a type, ``cart/ADD``, and is no call.
    """
    keys = {words_of(key): key for key in islice(attributes, MAX_LOOKED_AT)}
    for words, key in keys.items():
        match = _ACTION_INPUT.fullmatch(words)
        if match is not None:
            own = (match[1], f"{match[1]}_name", f"{match[1]}_type")
            action = first_line(attributes.get(keys.get(one, "")) for one in own)
            if action is None:
                action = name_of(_after(match[1], own_name))
            elif words == "action_payload" and "/" in action:
                return None
            if match[1].endswith("plugin") and not isinstance(parse_any(attributes[key]), Mapping):
                return None  # what a plugin of an application is loaded with
            return None if action is None else (action, attributes[key])
    return None


def _after(word: str, name: str) -> str | None:
    """Returns what follows a word and a separator in the name of a span."""
    beginning, separator, rest = name[: 2 * MAX_KEY].partition("/" if "/" in name else ":")
    return rest.strip() if separator and words_of(beginning) == word else None


def first_line(values: Iterable[object]) -> str | None:
    """Returns the first value that can be a name: text of one line."""
    return next((name for value in values if (name := name_of(value)) is not None and "\n" not in name), None)
