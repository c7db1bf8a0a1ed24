"""Swiftide (the crates swiftide-* 0.33, Rust): spans of its agents under the scope of the application.

The span of a call holds nothing but its name, and that of a request nothing. What was asked for, and what came of it, is in
spans of messages that are added to the conversation, as Rust's ``Display`` writes them. Of a call that waits for a human
there is none.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal, find_refusal
from collector.payloads.values import MAX_TEXT

NAME: Final = "swiftide"

_TARGET: Final = "target"
_AGENTS: Final = "swiftide_agents::"
_CLIENTS: Final = "swiftide_integrations::"
_RUNS: Final = ("agent.query", "agent.query_once", "agent.run", "agent.run_once")
_TOOL: Final = "tool."
_ADDED: Final = "add_message"
_MESSAGE: Final = "message"
_ANSWER: Final = 'Assistant: "'
_ASKED: Final = '", tools: '
"""Between the text of an answer, which may hold it as well, and its calls."""
_MAX_TRIED: Final = 16
_RETURNED: Final = 'ToolOutput: "'
_CALL: Final = re.compile(r"([^\s#]{1,256})#(\S{1,256}) ")
_OUTPUT: Final = '": "'
_FAILED: Final = "Tool call failed: "
_UNPARSED: Final = "arguments for tool failed to parse: "
_DECODER: Final = json.JSONDecoder()


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None if another crate wrote it."""
    target = span.attributes.get(_TARGET)
    if type(target) is not str or not target.startswith((_AGENTS, _CLIENTS)):
        return None
    genai_span = _read_known(span)
    if genai_span is not IGNORED:
        genai_span.scope = NAME  # an application chooses that of its tracer
    return genai_span


def _read_known(span: Span) -> GenAISpan:
    if span.name in _RUNS:
        agent = context_span_of(span, Role.AGENT, NAME)
        agent.note(traced_calls="all")
        return agent
    if span.name.startswith(_TOOL):
        return _read_tool(span)
    message = span.attributes.get(_MESSAGE)
    if span.name != _ADDED or type(message) is not str or len(message) > MAX_TEXT:
        return IGNORED
    if message.startswith(_ANSWER):
        return _read_answer(span, message)
    return _read_result(span, message) if message.startswith(_RETURNED) else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    call = genai_span_of(span, Role.TOOL, NAME)
    call.name = span.name.removeprefix(_TOOL)
    call.is_pending = True  # unless a message tells what came of it
    return call


def _read_answer(span: Span, message: str) -> GenAISpan:
    calls, at = None, message.find(_ASKED)
    for _ in range(_MAX_TRIED):
        if at < 0 or calls is not None:
            break
        calls = _calls(message[at + len(_ASKED) :])
        at = message.find(_ASKED, at + 1)
    output = None if calls is None else json.dumps([{"role": "assistant", "tool_calls": calls}])
    model = model_span_of(span, NAME, output, None)
    model.finish = "other" if calls == [] else "tool_calls"
    return model


def _calls(asked: str) -> list[dict[str, Any]] | None:
    """Returns the calls that an answer asks for; None if these are not whole."""
    calls: list[dict[str, Any]] = []
    while asked not in ("", "None"):
        found, end = _CALL.match(asked), 0
        if found is None or not (end := _end_of_json(asked, found.end())):
            return None
        function = {"name": found[2], "arguments": asked[found.end() : end]}
        calls.append({"id": found[1], "type": "function", "function": function})
        if asked[end : end + 2] not in ("", ", "):
            return None
        asked = asked[end + 2 :]
    return calls


def _end_of_json(text: str, start: int) -> int:
    """Returns where the JSON value ends that begins there; 0 if none does."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return 0


def _read_result(span: Span, message: str) -> GenAISpan:
    """Read a message that tells what came of the call before it."""
    call = genai_span_of(span, Role.TOOL, NAME)
    call.note(identity="result")
    found = _CALL.match(message, len(_RETURNED))
    if found is None:
        return IGNORED
    call.call_id, call.name = found[1], found[2]
    end = _end_of_json(message, found.end())
    if not end or not message.startswith(_OUTPUT, end):
        _read_unparsed(call, message, found.end())
        return call
    call.arguments = message[found.end() : end]
    output = message[end + len(_OUTPUT) :]
    call.status = "ok"
    if output.startswith(_FAILED):
        call.status, call.refusal = "error", find_refusal(output.removeprefix(_FAILED).removesuffix('"'))
    return call


def _read_unparsed(call: GenAISpan, message: str, start: int) -> None:
    """Read what came of a call whose arguments are no JSON: a tool that takes any parses them before it begins."""
    end = message.find(_OUTPUT + _FAILED + _UNPARSED, start)
    if end < 0:
        call.note(outcome="told")
        return
    call.arguments = message[start:end] or None
    call.status, call.refusal = "error", Refusal()


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TARGET,),
    read_span=read_span,
    markers=(_AGENTS.encode(),),
    attributes=frozenset({_MESSAGE}),
)
