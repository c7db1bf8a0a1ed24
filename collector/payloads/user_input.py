"""Extracts the user's text from whatever the instrumentation recorded as an agent's input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.message_text import MessageText
from collector.payloads.roles import USER_ROLES, plain_role
from collector.payloads.text_calls import is_observation
from collector.payloads.tool_results import TAIL
from collector.payloads.values import MAX_REPR, MAX_TEXT, first_value, parse_any, parse_json, parse_repr

# Messages as Python reprs (Haystack, LlamaIndex, AutoGen): the speaker, and the first string literal that follows.
_REPR_SPEAKER: Final = re.compile(r"\brole=<\w+\.[A-Z]+: '|_role=<\w+\.[A-Z]+: '|\bsource='[^']+' models_usage=")
_REPR_USER: Final = re.compile(r"USER: 'user'>|\bsource='user' ")
_REPR_TEXT: Final = re.compile(r"""\b(?:text|content)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)

# Prompts that a framework builds around the user's text. CrewAI 1.x: the task of an agent; Gemini CLI: the time, the folders
# and the like come first.
_TEMPLATES: Final = (
    re.compile(r"\s*Current Task: (.*?)\n\nThis is the expected criteria for your final answer:", re.DOTALL),
    re.compile(r"\s*<session_context>.*?</session_context>\s*(.+)", re.DOTALL),
)

_OF_ANOTHER: Final = re.compile(r"For context:(?:\Z| below is a transcript of what another agent did\b)")  # 1.x and 2.x


class _UserText(MessageText):
    roles = USER_ROLES
    skipped_types = frozenset({
        "tool_result", "tool-result", "tool_call", "tool_call_response", "tool_use", "function_call_output",
    })  # fmt: skip
    keys = (
        "messages", "new_message", "message", "user_prompt", "prompt", "query", "question", "user_msg", "user_input",
        "input", "inputs", "task", "contents", "text", "content", "parts", "args", "kwargs", "request", "generations",
        "value", "description",
    )  # fmt: skip

    def is_skipped(self, value: Mapping[Any, Any]) -> bool:
        return super().is_skipped(value) or is_observation(value) or _is_of_another(value)

    def is_message_repr(self, text: str) -> bool:
        return _REPR_SPEAKER.search(text[:MAX_REPR]) is not None

    def text_of_repr(self, text: str) -> str | None:
        text = text[:MAX_REPR]
        # A history holds earlier messages of the user as well; the last one is the newest.
        starts = [match.end() for match in _REPR_USER.finditer(text)]
        found = _REPR_TEXT.search(text, starts[-1]) if starts else None
        literal = None if found is None else parse_repr(found[1])
        return literal.strip() or None if isinstance(literal, str) else None

    def text(self, value: object, depth: int) -> str | None:
        text = super().text(value, depth)
        if depth or text is None:
            return text
        return next((match[1] for template in _TEMPLATES if (match := template.match(text))), text)


def _is_of_another(message: Mapping[Any, Any]) -> bool:
    """Whether a message tells an agent of Google's ADK, as the user, what another agent did before it."""
    parts = message.get("parts")
    first = parts[0] if isinstance(parts, (list, tuple)) and parts else None
    text = first_value(first, ("text", "content")) if isinstance(first, Mapping) else None
    return isinstance(text, str) and _OF_ANOTHER.match(text) is not None


_USER_TEXT: Final = _UserText()
_ANSWER_OF_HUMAN: Final = "function_approval_response"
_NOTHING: Final = "null"
"""What MLflow writes for no input."""
GO_ON: Final = '{"resume": true, "goto": []}'
"""A command to LangGraph that has no answer in it."""
_BEGIN_NOTHING: Final = (_NOTHING, "{")
_WRAPPED_NOTHING: Final = re.compile(r'\{"input":null\}$|\{"inputs": null,')
"""In the wrappers of LangSmith and of OpenLLMetry, which has more beside it."""


def user_text(value: object) -> str | None:
    """Returns the user's newest text in ``value``: plain text, messages, or an object that holds either.

    None if there is none, or if it is uncertain who wrote the text.
    """
    return None if value == _NOTHING else _USER_TEXT.find(value)


def resumes_run(value: object) -> bool:
    """Whether an agent's input is no message, but the answer for which a run waited: LangGraph's `Command` (1.0), or what a
    human answers to Microsoft's Agent Framework (1.23).
    """
    if type(value) is str and '"resume"' not in value and _ANSWER_OF_HUMAN not in value:
        return False
    command = parse_any(value)
    if isinstance(command, list):
        message = command[-1] if command else None
        parts = message.get("parts") if isinstance(message, Mapping) else None
        return isinstance(parts, list) and any(
            isinstance(part, Mapping) and part.get("type") == _ANSWER_OF_HUMAN for part in parts
        )
    if isinstance(command, Mapping):
        command = command.get("inputs", command.get("input", command))  # wrappers of OpenLLMetry and LangSmith
    return isinstance(command, Mapping) and command.get("resume") is not None and "goto" in command


def is_nothing(value: object) -> bool:
    """Whether an agent's input is recorded, and is nothing."""
    if type(value) is not str or not value.startswith(_BEGIN_NOTHING):
        return False
    return value == _NOTHING or _WRAPPED_NOTHING.match(value) is not None


def is_approval(value: object) -> bool:
    """Whether an agent's input holds what a human answered to a call that waited, as Vercel's AI SDK (6) writes it."""
    return type(value) is str and '"tool-approval-response"' in value


def ends_with_answers(value: object) -> bool:
    """Whether an agent's input ends with what tools, or a human, answered, as Vercel's AI SDK writes it."""
    if type(value) is str and '"tool"' not in value:
        return False
    given = parse_any(value)
    messages = given.get("messages") if isinstance(given, Mapping) else given
    newest = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(newest, Mapping) and newest.get("role") == "tool"


_ANSWERS: Final = ('"role":"tool"', '"state":"output-')
_QUESTION: Final = '"role":"user"'


def goes_on_with_answer(value: object) -> bool:
    """Whether an agent for JavaScript is given what came of a call, in a message of the model or of the user interface, and no
    words of a user after that."""
    return type(value) is str and max(map(value.rfind, _ANSWERS)) > value.rfind(_QUESTION)


def is_answered(messages: object) -> bool:
    """Whether a request to a model tells what a human answered in place of a tool that waited, as Genkit writes it."""
    return type(messages) is str and '"interruptResponse":true' in messages


USER_MARKERS: Final = ('"user"', '"User"', '"human"', '"HumanMessage"', "USER: 'user'", "MessageRole.USER")
_ANSWER: Final = '"assistant"'
_OTHER_MARKERS: Final = (
    _ANSWER, '"Assistant"', '"AIMessage"', '"tool"', '"ToolMessage"', '"tool_result"', '"tool_call_response"',
    '"toolResult"', '"function_call_output"', '"functionResponse"', '"function_response"', "ASSISTANT: 'assistant'",
    "TOOL: 'tool'",
)  # fmt: skip

_LONG: Final = 4_096
"""Characters of messages of which only the newest is kept, if it is the user's."""
_BEGINNINGS: Final = ('{"role": "user"', '{"role":"user"')


def newest_user_input(messages: object) -> object | None:
    """Returns ``messages`` if the newest is the user's, else None: a request that follows tool results keeps no input.

    Only the end of a long text is searched, and of one that is a list of messages only the newest is returned: a run needs
    no more, and in a conversation every request repeats all messages before it.
    """
    if type(messages) is str:
        tail = messages[-TAIL:] if len(messages) <= MAX_TEXT else ""
        answer = max(0, tail.rfind(_ANSWER))  # what the user said before the model's last answer is not the newest
        start = next((start for word in USER_MARKERS if (start := tail.rfind(word, answer)) >= 0), -1)
        if start < 0 or any(tail.find(word, start) >= 0 for word in _OTHER_MARKERS):
            return None
        return messages if len(messages) <= _LONG else _newest_alone(messages)
    if isinstance(messages, list) and messages:
        newest = messages[-1]
        is_users = not isinstance(newest, Mapping) or plain_role(newest.get("role", "user")) in USER_ROLES
        return messages if is_users else None
    return messages or None


def _newest_alone(messages: str) -> str:
    """Returns a list of messages as JSON without those before the user's; other texts, and others' words, unchanged.

    How long they were stays in their place: it tells two conversations apart that end alike.
    """
    start = max(messages.rfind(word, len(messages) - TAIL) for word in _BEGINNINGS)
    if start <= 1 or messages[0] != "[" or messages[-1] != "]":
        return messages
    # What is a JSON value between there and the last bracket is the last item of the list.
    newest = messages[start:-1]
    if _USER_TEXT.find([parse_json(newest)]) is None:  # such as an image: the text is in an earlier message
        return messages
    return f'[{{"omitted": {start}}}, {newest}]'
