"""The fallback: a span of no known dialect that still looks like a tool call, an agent or a model request.

It is read by its shape: by the words of its attributes' keys, of its kind and of its name, whatever prefix a tracer gives
them. A span whose kind, or whose name, says that it is a tool call is one. A span that only carries the attributes of one
may be a step on the way to it, so whether such a call ran is in doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from collector.dialects.generic.other_spans import is_of_http_or_database, is_of_prefect
from collector.dialects.generic.tool_call import merged, read_function, read_possible_tool, read_tool
from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, model_span_of
from collector.model.genai_span import BY_SHAPE, IGNORED, GenAISpan, Role
from collector.model.span import Span, copied
from collector.payloads.answers import action_in_text, answer_with_input, answered_results, asking_answer
from collector.payloads.attribute_objects import with_details
from collector.payloads.attribute_shapes import (
    Meaning,
    Values,
    action_with_input,
    first_line,
    is_definition_of,
    meaning_of,
    named_call,
    tells_handoff,
    values_by_meaning,
)
from collector.payloads.call_lists import transcript_of_lists
from collector.payloads.call_parts import call_in_parts
from collector.payloads.event_calls import Transcript, is_refused, transcript_of_events
from collector.payloads.exchanges import conversation_among, exchange_among
from collector.payloads.flattened_attributes import flattened_calls
from collector.payloads.identified_calls import (
    MARKER,
    described_input,
    described_output,
    described_tool,
    identified_requests,
    tool_with_arguments,
    with_identified_call,
)
from collector.payloads.json_rpc import call_by_rpc
from collector.payloads.messages import is_answer, may_contain_tool_calls
from collector.payloads.span_names import (
    agent_in_span_name,
    filled_in,
    is_function,
    is_function_call,
    is_handoff,
    is_turn_of_agent,
    role_of_kind,
    tells_tool,
    tool_in_span_name,
)
from collector.payloads.tool_arguments import is_schema
from collector.payloads.values import name_of, parse_any, parse_once
from collector.payloads.written_calls import call_in_span_name

_OF_CALL: Final = frozenset({"input", "output", "call_id", "success", "failure", "status", "returned"})
"""What is told of a call, and of few other things."""
_OF_ANSWERED: Final = frozenset({"tool_name", "output"})
"""What is known of a span that needs no answer under another key."""


def read_span(span: Span) -> GenAISpan | None:
    """Returns None if neither attributes nor the name say what the span is."""
    if is_of_prefect(span) or is_of_http_or_database(span):
        return None
    # Which of its texts mean what is tried in several ways.
    return parse_once(lambda: _read_span(span))


def _read_span(span: Span) -> GenAISpan | None:
    span = _named(span)
    details = with_details(span.attributes)
    if details is not None:
        span = copied(span, span.name, details)
    transcript = _transcript(span)
    attributes = span.attributes if transcript is not None else _with_events(span)
    values = values_by_meaning(attributes)
    kinds = values.get("kind", ())
    role = next((role for kind in kinds if (role := role_of_kind(parse_any(kind))) is not None), None)
    # A span that says what it is needs no id to be one, and names its tool better than what stands beside an id.
    if span.parent_span_id and role is None and tool_in_span_name(span.name)[1] is None:
        values = with_identified_call(values, attributes, span.name)
    if "tool_name" not in values:
        _add_action(values, span)
    if (written := call_in_span_name(span.name)) is not None:
        role, values = "tool", {**values, "tool_name": [written[0]], "input": [written[1]]}
    elif role is None and (called := call_by_rpc(span.attributes) or exchange_among(span.attributes)):
        role, values = "tool", {**values, **called}
    role = role or ("tool" if is_function(span.name) or _is_of_tool(span, values) else None)
    if role == "agent" or (role is None and is_definition_of(span.name, values)):
        # One request of a run and the calls that it asked for; what is above covers all of them.
        is_turn = bool(span.parent_span_id) and is_turn_of_agent(span.name)
        return IGNORED if is_turn and transcript is None else _read_agent(span, values, transcript)
    is_model = role == "model" or (role is None and ("model" in values or role_of_kind(span.name) == "model"))
    if transcript is not None:
        # A request to a model that only names calls asked for them; a turn of an agent made them.
        is_request = is_model and not transcript.has_results
        return _read_model(span, values, transcript) if is_request else _read_turn(span, values, transcript)
    if role == "model":
        return _read_model(span, values if "output" in values else {**values, **answer_with_input(span.attributes)})
    if "tool_name" not in values and (is_handoff(span.name) or tells_handoff(span.attributes)):
        return IGNORED  # some tracers give it the kind of a call
    is_tool, named = tool_in_span_name(span.name)
    if role == "tool" or is_tool:
        return read_tool(span, values, named) if is_tool else read_function(span, values)
    is_agent, named = agent_in_span_name(span.name)
    if is_agent:
        return _read_named_agent(span, values, named)
    return _read_unnamed(span, values, is_model=is_model)


def _is_of_tool(span: Span, values: Values) -> bool:
    """Whether a span is of a tool by its sort, and tells what it was given or what came of it: a list of them has neither."""
    if not tells_tool(span.attributes):
        return False
    if not _OF_CALL.isdisjoint(values):
        return True
    return described_input(span.attributes) is not None or described_output(span.attributes) is not None


def _add_action(values: dict[Meaning, list[Any]], span: Span) -> None:
    """Add the tool that stands under another word beside its input."""
    if call := call_in_parts(span.attributes, span.name):
        values.update(call)
        return
    if "input" in values and (tool := named_call(span.attributes)) is not None:
        values["tool_name"] = [tool]
        return
    action = action_with_input(span.attributes, span.name)
    if action is not None and not is_schema(action[1]):
        values["tool_name"] = [action[0]]
        values.setdefault("input", [action[1]])


def _read_unnamed(span: Span, values: Values, *, is_model: bool) -> GenAISpan | None:
    """Reads a span of which neither kind nor name tells what it is."""
    if not span.parent_span_id and (conversation := conversation_among(span.attributes)) is not None:
        return _read_conversation(span, values, conversation)
    outputs = values.get("output", ())
    if is_model and any(map(is_answer, outputs)):
        return _read_model(span, values)
    # Nothing but a model answers with a message that asks for calls, whatever the function is called that returns it.
    if (
        span.parent_span_id
        and "tool_name" not in values
        and any(may_contain_tool_calls(o) and is_answer(o) for o in outputs)
    ):
        return _read_model(span, values)
    # A root is no request: what it returned is the run's.
    if span.parent_span_id and _OF_ANSWERED.isdisjoint(values) and (exchange := answer_with_input(span.attributes)):
        return _read_model(span, {**values, **exchange})
    # Nor does anything else answer messages, of which some are results of calls, with a message.
    if span.parent_span_id and "tool_name" not in values and (exchange := answered_results(span.attributes)):
        return _read_model(span, {**values, **exchange})
    if span.parent_span_id and "tool_name" not in values:
        requests = (
            identified_requests(span.attributes) or asking_answer(span.attributes) or action_in_text(span.attributes)
        )
        if requests is not None:
            genai_span = _read_model(span, {**values, "output": [requests]})
            genai_span.note(identity="guessed")
            return genai_span
    if span.parent_span_id and "tool_name" not in values and not is_model:
        values = {**values, **tool_with_arguments(span.attributes, span.name)}
        if is_function_call(span.name) and (tool := described_tool(span.attributes)) is not None:
            values = {"tool_name": [tool], **values}
    return None if is_model else read_possible_tool(span, values)


def _named(span: Span) -> Span:
    name = filled_in(span.name, span.attributes)
    return span if name is span.name else copied(span, name, span.attributes)


def _transcript(span: Span) -> Transcript | None:
    """Returns what events of the span, or lists among its attributes, tell of calls.

    None if the span itself is a call, whose parts they are.
    """
    if tool_in_span_name(span.name)[0]:
        return None
    if not span.events:
        return transcript_of_lists(span.attributes, span.name)
    values = values_by_meaning(span.attributes)
    if "tool_name" in values and "model" not in values:
        return None
    transcript = transcript_of_events((event.name, event.attributes) for event in span.events)
    return transcript if transcript.messages else transcript_of_lists(span.attributes, span.name)


def _with_events(span: Span) -> Mapping[str, Any]:
    """Returns the attributes of the span, and those that only its events have: some tracers put inputs there."""
    if not span.events:
        return span.attributes
    attributes: dict[str, Any] = {}
    events = span.events[:MAX_EVENTS]
    times = Counter([event.name for event in events])
    for event in events:
        # The attributes of an exception describe a failure, and those of each of several events one thing of many.
        # Nor is a call that did not run what the span above it is.
        is_other = event.name == semconv.EVENT_EXCEPTION or (not span.parent_span_id and is_refused(event.name))
        if not is_other and times[event.name] == 1:
            meaning = meaning_of(event.name)
            # `input` with a `body` is the input.
            prefix = f"{event.name}." if meaning in ("input", "output") else ""
            attributes.update((f"{prefix}{key}", value) for key, value in event.attributes.items())
            if meaning == "failure" and event is events[-1]:  # else it may have been tried again
                attributes[event.name] = next(iter(event.attributes.values()), True)
    return merged(span.attributes, attributes)


def _read_turn(span: Span, values: Values, transcript: Transcript) -> GenAISpan:
    """Reads a step of an agent, of which each call is an event."""
    genai_span = model_span_of(span, BY_SHAPE, None, next(iter(values.get("input", ())), None))
    genai_span.history = transcript.messages
    genai_span.note(extent="memory")
    genai_span.agent = first_line(values.get("agent", ()))
    genai_span.conversation_id = first_line(values.get("conversation", ()))
    return genai_span


def _read_conversation(span: Span, values: Values, conversation: str) -> GenAISpan:
    """Reads a root with all messages of its run."""
    genai_span = model_span_of(span, BY_SHAPE, None, conversation)
    genai_span.note(extent="memory")
    genai_span.agent = first_line(values.get("agent", ()))
    genai_span.conversation_id = first_line(values.get("conversation", ()))
    return genai_span


def _read_agent(span: Span, values: Values, transcript: Transcript | None) -> GenAISpan:
    inputs = () if is_definition_of(span.name, values) else values.get("user_input", values.get("input", ()))
    user_input = next(iter(inputs), None)
    genai_span = context_span_of(span, Role.AGENT, BY_SHAPE, user_input, first_line(values.get("conversation", ())))
    genai_span.name = first_line(values.get("agent", ())) or first_line(values.get("name", ())) or name_of(span.name)
    genai_span.history = None if transcript is None else transcript.messages
    return genai_span


def _read_named_agent(span: Span, values: Values, named: str | None) -> GenAISpan:
    """Reads a span of which only the name says that an agent ran: its own, that of a wrapper, or of another step."""
    genai_span = _read_agent(span, values, None)
    genai_span.name = first_line(values.get("agent", ())) or name_of(named)
    genai_span.note(identity="guessed")
    return genai_span


def _read_model(span: Span, values: Values, transcript: Transcript | None = None) -> GenAISpan:
    output: Any = flattened_calls(span.attributes)
    if transcript is not None:
        output = transcript.requests
    elif output is None:
        output = next((value for value in values.get("output", ()) if not isinstance(value, (bool, int, float))), None)
    genai_span = model_span_of(span, BY_SHAPE, output, next(iter(values.get("input", ())), None))
    genai_span.agent = first_line(values.get("agent", ()))
    genai_span.conversation_id = first_line(values.get("conversation", ()))
    return genai_span


MARKERS: Final[tuple[bytes, ...]] = (
    MARKER,
    b"tool", b"Tool", b"TOOL", b"function_call", b"llm", b"LLM", b"span.type", b"span_type", b"agent.name", b"agent_name",
    b"chat_completion", b"functionCall", b"function.invocation", b"invoke_agent", b"run_agent", b"agent_run", b"agent.run",
    b"ubagent", b"action_input", b"action.input", b"action_args", b"action.args", b"action.params", b"action_params",
    b"action.payload", b"action_payload", b"function.arg", b"function.param", b"function.input", b"function_arg",
    b"Action Input:", b"args.", b"arg.", b"params.", b"param.", b"fn.arg", b".calls", b"_calls",
    b"skill", b"plugin/", b"plugin:", b"remote_function", b"execute_function", b"run_function", b"call_function",
    b"invoke_function", b"exec_function",
    b"erramienta", b"erkzeug", b"erramenta", b"outil", b"Outil", b"strumento",
    b"\n\x05agent", b"\n\x05AGENT", b"*\x08function",  # a kind, a name: a whole value, with its length
)  # fmt: skip
"""Every span that this dialect reads contains one of these, unless it contains a marker of another."""

DIALECT: Final[Dialect] = Dialect(
    name=BY_SHAPE,
    read_span=read_span,
    markers=MARKERS,
    output_attributes=(semconv.OUTPUT_VALUE, "lmnr.span.output", "output"),
)
