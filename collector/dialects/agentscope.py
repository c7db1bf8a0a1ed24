"""AgentScope (Python and Java, 1.0 and 2.0): the GenAI conventions, except that the span of a tool that failed is a success.

The state is in the result: in Python a ``ToolResponse``, as its repr or as JSON (2.0.11), in Java text. In Python before 2.0
there is none, and the toolkit's own words tell. Java 2.0 has one span for all calls of a turn, and none of their results.
Everything else is left to the conventions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.model.tracing import Outcome
from collector.payloads.refusals import find_refusal
from collector.payloads.tool_results import tool_result
from collector.payloads.values import name_of, parse_any

NAME: Final = "agentscope"

_JAVA_2: Final = "io.agentscope"
_PYTHON: Final = "agentscope"
_SCOPES: Final = (_PYTHON, "agentscope-java", _JAVA_2)
_UNCONFIRMED: Final = "agentscope.agent.hitl_pending_tools"
_RUN_ELSEWHERE: Final = "agentscope.agent.external_execution_pending_tools"
_FAILED: Final = ("state=<ToolResultState.ERROR", "state=<ToolResultState.DENIED", "state=<ToolResultState.INTERRUPTED")
_FAILED_IN_JSON: Final = re.compile(r'"state": "(error|denied|interrupted)"')
_IN_PLACE: Final = re.compile(
    r"""^"?ToolResponse\(content=\[\{'type': 'text', 'text': \\?['"]"""
    r"(?=Error: |Error occurred when calling MCP tool: |Function(?:NotFound|Inactive)Error: )"
)
"""How the result of a tool begins that raised, or that the toolkit did not call, before there was a state."""
_JAVA_ERROR: Final = '[{"text":"Error: '
_BETWEEN: Final = ", "
_MAX_CALLS: Final = 256
_SEARCHED: Final = 1 << 18  # characters of a result


def read_span(span: Span) -> GenAISpan | None:
    """Reads whether a tool failed; None for any other span, unless it only formats messages."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if span.scope.name == _JAVA_2:
        return _read_java_2(span, operation)
    if operation == "invoke_agent" and span.scope.name == _PYTHON:
        return _read_agent(span)
    if operation != "execute_tool":
        return IGNORED if operation == "format" else None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is str:
        if any(state in result[:_SEARCHED] for state in _FAILED):
            genai_span.status, genai_span.refusal = "error", find_refusal(result)
        elif result.startswith(_JAVA_ERROR) or _tells_failure(result):
            genai_span.status, genai_span.refusal = "error", tool_result(None, result).refusal
        elif (begin := _IN_PLACE.match(result)) is not None:
            genai_span.status, genai_span.refusal = "error", find_refusal(result[begin.end() :])
    elif genai_span.status != "error":  # that of the span says nothing of the tool
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    """Reads a run of Python. In 2.0 it tells that it waits for a human, or for the application to run a tool: it goes on in
    another trace. What its permissions deny leaves no span, and the model is told the words of a rule as a result.
    """
    get = span.attributes.get
    genai_span = context_span_of(
        span, Role.AGENT, NAME, get(semconv.INPUT_MESSAGES), name_of(get(semconv.CONVERSATION_ID))
    )
    genai_span.name = name_of(get(semconv.AGENT_NAME))
    waits: Outcome = (
        "told" if get(_RUN_ELSEWHERE) is not None else "open" if get(_UNCONFIRMED) is not None else "hooked"
    )
    genai_span.note(traced_calls="all", outcome=waits)
    return genai_span


def _read_java_2(span: Span, operation: object) -> GenAISpan | None:
    """Reads a span of Java 2.0: of a run, or of all calls of a turn. It joins their names, and the ids of those that ended:
    a call that waits for a human has none, and ends well.
    """
    if operation == "invoke_agent":
        genai_span = context_span_of(span, Role.AGENT, NAME)
        genai_span.name = name_of(span.attributes.get(semconv.AGENT_NAME))
        genai_span.note(traced_calls="all")
        return genai_span
    if operation != "execute_tool":
        return None
    names, ids = span.attributes.get(semconv.TOOL_NAME), span.attributes.get(semconv.TOOL_CALL_ID)
    tools = names.split(_BETWEEN, _MAX_CALLS) if type(names) is str else []
    ended = ids.split(",", _MAX_CALLS) if type(ids) is str else []
    if 1 < len(tools) == len(ended):
        return _read_calls_of_turn(span, tools)
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    # Of several some have not ended, and nothing tells which: what ran may be any of them.
    if len(tools) > 1 or genai_span.status != "error":
        genai_span.status = "unset"
        genai_span.note(outcome="told")
        genai_span.is_pending = len(ended) < max(1, len(tools))
    return genai_span


def _read_calls_of_turn(span: Span, tools: Sequence[str]) -> GenAISpan:
    """Reads calls that have all ended as a conversation would tell of them: each has a result, and nothing tells which."""
    genai_span = genai_span_of(span, Role.GROUP, NAME)
    genai_span.note(extent="loop")
    # Not by the ids in the span, which are in the order in which the calls ended.
    numbered = [(f"{span.span_id.hex()}-{number}", tool) for number, tool in enumerate(tools)]
    calls = [{"type": "function", "id": number, "function": {"name": tool}} for number, tool in numbered]
    results = [{"role": "tool", "tool_call_id": number} for number, _ in numbered]
    genai_span.history = [{"role": "assistant", "tool_calls": calls}, *results]
    return genai_span


def _tells_failure(result: str) -> bool:
    """Whether a result in JSON has a state of a call that failed; what a tool returned is text in there."""
    state = _FAILED_IN_JSON.search(result, 0, _SEARCHED)
    response = parse_any(result) if state is not None else None
    return state is not None and isinstance(response, Mapping) and response.get("state") == state[1]


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=_SCOPES,
    read_span=read_span,
    attributes=frozenset({
        semconv.OPERATION_NAME, semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.AGENT_NAME, semconv.TOOL_CALL_RESULT,
        semconv.INPUT_MESSAGES, semconv.CONVERSATION_ID, _UNCONFIRMED, _RUN_ELSEWHERE,
    }),
)  # fmt: skip
