"""Tool calls in the words of a message: protocols of frameworks that ask a model for text instead of calls.

DSPy (2.6 to 3) frames each field of an answer (``[[ ## next_tool_name ## ]]``), or asks for JSON with these keys, and repeats
the calls so far as a trajectory;
smolagents (1.2x) tells its model of earlier calls as ``Calling tools:`` with a Python repr, or has it write code. ReAct
(CrewAI, LangChain's oldest agents) asks for an ``Action:`` with its ``Action Input:``, and tells the result as an
``Observation:``; prompts for Hermes and Qwen ask for JSON between tags. Bounded, and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.values import MAX_TEXT, first_value, parse_any

_FIELD: Final = re.compile(r"\[\[ ## (\w{1,64}) ## \]\][ \t]*(?:\n|\Z)")
_DSPY: Final = "[[ ## "
NEXT_TOOL: Final = "next_tool_name"
"""Names the tool in each step that DSPy's ReAct asks for, as a heading, or as a key where its adapter asks for JSON."""
_CALLS_IN_FIELD: Final = re.compile(r'\{\s{0,8}"tool_calls":')
"""Begins a field whose type is `ToolCalls` (DSPy 3)."""
_TRAJECTORY: Final = "[[ ## tool_name_0 ## ]]"
_FINISH: Final = "finish"
"""The tool by which DSPy's model ends the run: it does nothing."""
_ACTION: Final = re.compile(r"Action: .{1,300}?(?:\n|\\n)\s*Action Input:")  # the line break perhaps escaped, in JSON
_FINAL_ANSWER: Final = "Final Answer:"
ACTION_INPUT: Final = "Action Input:"
"""Every request in the words of ReAct contains it."""
_REACT: Final = re.compile(r"(?:^|\n)Action: *+([^\n]{1,256}?) *+\n *+Action Input: *+(?=\{)")
_RESULT: Final = re.compile(r"\nObservation: ?")
_TAGS: Final = ("<tool_call>", "FUNCTION\u273f: ", "FUNCTION\\u273f: ")
_TAGGED: Final = re.compile(r"<tool_call>(?:\s|\\n){0,8}\{|(?:\u273f|\\u273f)FUNCTION(?:\u273f|\\u273f): ")
"""How models are told to ask for a call in text that Hermes and Qwen were trained on, in JSON perhaps escaped."""
_CALLING: Final = "Calling tools:\n"
_OBSERVATION: Final = "Observation:\n"
_AFTER_RESULT: Final = "Analyze the tool result. "
"""Begins what CrewAI (1.x) tells its model after each result, as the user."""
_FEEDBACK: Final = re.compile(r"User feedback: .{1,8192}?\nInstructions: Use this feedback to enhance", re.DOTALL)
"""Begins what it tells its model of a human who wants more of an answer (``human_input``)."""
REJECTED: Final = "### Previous attempt failed validation: "
"""Begins what CrewAI tells its model of an answer that a guardrail rejected."""
_THOUGHT: Final = "Thought:"
"""Ends a prompt as ReAct has it."""
# The arguments hold no further failure: else each of many would be read up to the limit.
_FAILURE: Final = re.compile(
    r"\bError executing tool '([^']{1,256})' with arguments (\{(?:[^E]|E(?!rror executing tool ')){0,4096}?\}): "
)
"""What smolagents' model is told instead of a call that failed."""
_UNKNOWN: Final = re.compile(r"^Error:\nUnknown tool ([^,\s]{1,256}), should be one of: ")
"""What it is told instead of a call of a tool that it does not have."""
_OF_LANGROID: Final = "=== ALL AVAILABLE TOOLS and THEIR FORMAT INSTRUCTIONS ==="
"""Langroid tells its model so of the tools for which it is to ask in text, as JSON or XML."""
_ASKED_OF_LANGROID: Final = re.compile(r'"request\\{0,4}": ?\\{0,4}"[\w-]|<request>[\s\\n]{0,8}[\w-]')
_OF_CODE: Final = "which you can call with code"
"""smolagents tells its model so of the tools that it is to call in code."""
_CODE: Final = re.compile(r'<code>|```py|"code\\{0,4}": ?\\{0,4}"')
"""Begins the code in an answer, between tags as the framework or the application has them, or in JSON perhaps escaped."""
REPEATED: Final = "is_repeated"
"""Key of a call that is told with its failure, whether or not it was told before."""
MAX_TRAJECTORY: Final = 1_000
"""How many calls of one trajectory are read."""


def requests_action(output: object) -> bool:
    """Whether a model's output requests a call in words: between tags, or as ReAct's prompts have it and without the answer."""
    try:
        text = output if type(output) is str else repr(output)
    except RecursionError:
        return False
    if ACTION_INPUT in text and _FINAL_ANSWER not in text and _ACTION.search(text) is not None:
        return True
    return any(tag in text for tag in _TAGS) and _TAGGED.search(text) is not None


def asks_langroid(output: object, given: object) -> bool:
    """Whether a model's output asks for a call as Langroid told it to. Where none does, ``output`` may be what it was told."""
    try:
        text = output if type(output) is str else repr(output)
        if "request" not in text or _OF_LANGROID not in (given if type(given) is str else repr(given)):
            return False
        return _ASKED_OF_LANGROID.search(text) is not None
    except RecursionError:
        return False


def writes_code(output: object, given: object) -> bool:
    """Whether a model's output has code that may call tools, as smolagents told it to."""
    try:
        text = output if type(output) is str else repr(output)
        if ("code" not in text and "```py" not in text) or _CODE.search(text) is None:
            return False
        return _OF_CODE in (given if type(given) is str else repr(given))
    except RecursionError:
        return False


def may_hold_calls(text: str) -> bool:
    """Whether ``text`` begins like a message that tells of calls in words, or holds a trajectory or a failure."""
    if text[:1] in ("{", "["):  # JSON may hold such a text, and is none
        return text.startswith(_DSPY)
    return text.startswith((_CALLING, _OBSERVATION)) or _TRAJECTORY in text or tells_failure(text)


def tells_failure(text: str) -> bool:
    """Whether ``text`` tells a model that a call failed, in smolagents' words."""
    return _FAILURE.search(text) is not None or _UNKNOWN.match(text) is not None


def is_observation(message: Mapping[Any, Any]) -> bool:
    """Whether a message of the user begins no run: it tells the result of a call, follows it and is empty, or hands on what a
    human thinks of an answer.
    """
    if message.get("parts") == []:  # Koog
        return True
    content = message.get("content") or message.get("parts")
    for _ in range(2):
        if isinstance(content, list) and content and isinstance(content[0], Mapping):
            content = first_value(content[0], ("text", "content"))
    if not isinstance(content, str):
        return False
    return content.startswith((_OBSERVATION, _AFTER_RESULT)) or _FEEDBACK.match(content) is not None


def parse_call(text: str) -> Any:
    """Returns the call that a model requested in ``text``, as a part of a message; None if it requested none."""
    if len(text) > MAX_TEXT:
        return None
    if not text.startswith(_DSPY):
        return None if _FINAL_ANSWER in text or (action := _action(text)) is None else action[0]
    fields = _fields(text)
    if NEXT_TOOL in fields:
        return call_of_step(fields)
    return next((parse_any(value) for value in fields.values() if _CALLS_IN_FIELD.match(value)), None)


def call_of_step(fields: Mapping[Any, Any]) -> Mapping[str, Any] | None:
    """Returns the call for which a step of DSPy's ReAct asks, as a part of a message; None if it ends the run."""
    name = fields.get(NEXT_TOOL)
    return _call(name, fields.get("next_tool_args")) if isinstance(name, str) and name not in ("", _FINISH) else None


def is_step(output: object) -> bool:
    """Whether a model's output is a step of DSPy's ReAct, which asks for another, and then for the answer."""
    try:
        return NEXT_TOOL in (output if type(output) is str else repr(output))
    except RecursionError:
        return False


def parse_action(text: str) -> list[Mapping[str, Any]]:
    """Returns the call in a message of a model as ReAct has it, and its result if it follows, as messages; empty without."""
    if ACTION_INPUT not in text or len(text) > MAX_TEXT or (action := _action(text)) is None:
        return []
    call, observed = action
    request = {"role": "assistant", "content": [call]}
    return [request] if observed is None else [request, {"role": "tool", "name": call["name"], "content": observed}]


def is_broken_action(text: str) -> bool:
    """Whether a message of a model asks for a call as ReAct has it, with an object that is damaged: frameworks may mend it."""
    return ACTION_INPUT in text and len(text) <= MAX_TEXT and _REACT.search(text) is not None and _action(text) is None


def follows_lost_attempt(text: str) -> bool:
    """Whether a prompt as ReAct has it asks for the answer once more: CrewAI keeps no message of the attempt before it."""
    return text.endswith(_THOUGHT) and REJECTED in text


def _action(text: str) -> tuple[Mapping[str, Any], str | None] | None:
    """Returns the call of the first action with an object as its input, and what was observed."""
    match = _REACT.search(text)
    if match is None:
        return None
    given, *observed = _RESULT.split(text[match.end() :], maxsplit=1)
    arguments = parse_any(given.strip().strip("`"))
    return (_call(match[1], arguments), next(iter(observed), None)) if isinstance(arguments, Mapping) else None


def parse_exchange(text: str) -> list[Mapping[str, Any]]:
    """Returns what ``text`` tells a model of its earlier calls, as messages; empty if it tells of none."""
    if len(text) > MAX_TEXT:
        return []
    if text.startswith(_CALLING):
        calls = parse_any(text[len(_CALLING) :])
        return [{"role": "assistant", "tool_calls": calls}] if isinstance(calls, list) else []
    if text.startswith(_OBSERVATION):
        return [{"role": "tool", "content": text[len(_OBSERVATION) :]}]
    if _TRAJECTORY in text:
        return _exchange(_fields(text))
    unknown = _UNKNOWN.match(text)
    if unknown is not None:
        return _failed(unknown[1], None, unknown[0])
    return [message for match in _FAILURE.finditer(text) for message in _failed(match[1], match[2])]


def _exchange(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages: list[Mapping[str, Any]] = []
    for number in range(MAX_TRAJECTORY):
        name = fields.get(f"tool_name_{number}")
        if not isinstance(name, str) or not name:
            break
        if name != _FINISH:
            messages.append({"role": "assistant", "content": [_call(name, fields.get(f"tool_args_{number}"))]})
            observation = fields.get(f"observation_{number}")
            if observation is not None:
                failed = isinstance(observation, str) and observation.startswith("Execution error in ")
                messages.append({"role": "tool", "name": name, "content": observation, "is_error": failed})
    return messages


def _failed(name: str, arguments: str | None, why: str = "") -> list[Mapping[str, Any]]:
    return [
        {"role": "assistant", "content": [{**_call(name, arguments), REPEATED: True}]},
        {"role": "tool", "name": name, "content": why, "is_error": True},
    ]


def _call(name: str, arguments: object) -> Mapping[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": parse_any(arguments)}


def _fields(text: str) -> dict[str, str]:
    """Returns what follows each heading; of two with one name the last."""
    parts = _FIELD.split(text)
    return {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=False)}
