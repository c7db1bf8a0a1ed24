"""A tool call that is read by its shape: what of a span's attributes and events is its name, its input, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from collector.model import semconv
from collector.model.from_span import MAX_EVENTS, doubt_failure, doubt_outcome, genai_span_of, set_raised
from collector.model.genai_span import BY_SHAPE, IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.attribute_objects import ACTION, ONE_NAME, answered_request, name_in_metadata, request_among
from collector.payloads.attribute_shapes import (
    MAX_LOOKED_AT,
    Values,
    arguments_one_by_one,
    arguments_under_one_key,
    first_line,
    is_plain,
    may_hold_arguments,
    meaning_of,
    named_function,
    typed_tool_name,
    values_by_meaning,
    words_of,
)
from collector.payloads.event_calls import is_result
from collector.payloads.identified_calls import (
    described_input,
    described_output,
    described_tool,
    grouped_arguments,
    inputs_of_words,
    is_doing,
)
from collector.payloads.outcomes import (
    answer_of_failure,
    denial_in,
    has_unknown_status,
    refusal_among,
    refusal_told,
    says_failure,
)
from collector.payloads.span_names import (
    ERROR_SUFFIX,
    function_in_path,
    is_execution,
    is_function,
    is_function_call,
    is_method,
    is_named_after,
    is_named_tool_of,
    is_step_before,
    role_of_kind,
    tool_in_span_name,
)
from collector.payloads.told_failures import is_flagged
from collector.payloads.tool_arguments import arguments_among, is_positional, tool_among
from collector.payloads.tool_results import tool_result
from collector.payloads.values import UNREADABLE, name_of, parse_any
from collector.payloads.written_calls import is_written_object

_OTHER_EVENTS: Final = (semconv.EVENT_EXCEPTION, semconv.EVENT_CHOICE, semconv.EVENT_TOOL_MESSAGE)
_RESOURCE: Final = "resource.name"
_EMPTY: Final = ("{}", '""', "[]", "null", "N/A")
"""In place of a result that was not recorded."""
_OPERATION: Final = "execute_tool"
"""The convention's word for a call, which says so under the keys of tracers too."""
_OF_CALLS: Final = frozenset({"kind", "tool_name", "call_id", "input", "output", "success", "returned"})
"""What of a span's attributes says that it is a call."""


def read_tool(span: Span, values: Values, named: str | None) -> GenAISpan:
    """Reads a tool call. One without a name is a part of the call above it, or a call of which the name is unknown."""
    genai_span = genai_span_of(span, Role.TOOL, BY_SHAPE)
    if named is not None and is_named_tool_of(span.name):
        # What stands before `.tool` may be the agent. Who is used to Datadog's words has a resource for a name.
        named = name_of(named_function(span.attributes)) or name_of(span.attributes.get(_RESOURCE)) or named
    genai_span.name = (
        first_line(values.get("tool_name", ()))
        or name_of(named)
        or name_of(typed_tool_name(span.attributes) or named_function(span.attributes))
        or first_line(values.get("name", ()))
        or tool_among(values.get("input", ()))
    )
    if genai_span.name is None:
        genai_span.name = name_in_metadata(span.attributes, span.name)
    if genai_span.name is None and is_doing(span.name):
        genai_span.name = described_tool(span.attributes)
    if genai_span.name is None and not is_function(span.name) and tool_in_span_name(span.name) == (False, None):
        genai_span.name = name_of(function_in_path(span.name))
    genai_span.name = genai_span.name or described_tool(span.attributes)
    _read_call(genai_span, span, values)
    _mark_unreadable(genai_span, span.attributes, values)
    if named is not None and is_method(span.name) and values.keys().isdisjoint(_OF_CALLS):
        genai_span.name = None
    return genai_span


def read_function(span: Span, values: Values) -> GenAISpan:
    """Reads a span whose kind says that it is a call, and not its name: functions of an application have such kinds, too."""
    is_plain = _is_only_function(values)
    if is_plain and not span.parent_span_id:
        return IGNORED  # what the application itself is, and no call of its agent's
    genai_span = read_tool(span, values, None)
    if is_plain or _is_report_of_error(genai_span, values):
        genai_span.note(identity="guessed")
    return genai_span


def _is_only_function(values: Values) -> bool:
    """Whether nothing but a kind, which functions of an application have that are no tools, says that the span is a call."""
    kinds = [kind for kind in values.get("kind", ()) if role_of_kind(parse_any(kind)) == "tool"]
    return all(type(kind) is str and kind.lower() == "function" for kind in kinds) and not (
        "tool_name" in values or "call_id" in values
    )


def _is_report_of_error(call: GenAISpan, values: Values) -> bool:
    """Whether a span may tell of the failure that another recorded: some tracers write one more for it."""
    is_named_so = call.name is not None and call.name.endswith(ERROR_SUFFIX)
    return is_named_so and call.status == "error" and call.arguments is None and "output" not in values


def read_possible_tool(span: Span, values: Values) -> GenAISpan | None:
    """Reads a span that only has the attributes of a tool call: it is one if it is named after its tool, or has returned."""
    if _OPERATION in span.attributes.values():
        return _read_operation(span, values)
    name = first_line(values.get("tool_name", ()))
    if name is None or ONE_NAME.fullmatch(name) is None:  # a request lists the tools that it offers
        return None
    if "kind" in values and not any(map(_is_of_call, islice(span.attributes, MAX_LOOKED_AT))):
        return None  # a function of the framework's, at work for an operation of another name
    genai_span = genai_span_of(span, Role.TOOL, BY_SHAPE)
    genai_span.name = name
    kinds = (kind for kind in values.get("kind", ()) if type(kind) is str)
    if is_step_before(span.name, name) or any(map(is_step_before, kinds)):
        genai_span.note(identity="guessed")  # the call has a span of its own, with its arguments and result
        return genai_span
    _read_call(genai_span, span, values)
    if is_result(span.name) and genai_span.arguments is None:
        genai_span.note(identity="result")
        return genai_span
    _mark_unreadable(genai_span, span.attributes, values)
    # Beside the tool's name alone, each plain attribute may be an argument.
    if genai_span.arguments is None and any(map(is_plain, span.attributes)):
        genai_span.arguments = UNREADABLE
    # A root is no call: what it returned is the run's.
    has_returned = bool(span.parent_span_id) and any(meaning in values for meaning in ("output", "success", "returned"))
    is_call = has_returned or is_named_after(span.name, name) or is_execution(span.name) or is_function_call(span.name)
    if not is_call:
        genai_span.note(identity="guessed")
    return genai_span


def _read_operation(span: Span, values: Values) -> GenAISpan:
    """Reads a call that the operation alone tells of: any attribute may be the tool's name, and what names the span may not."""
    named = span.name if span.name in span.attributes.values() else None
    genai_span = read_tool(span, values, named)
    if named is None and "tool_name" not in values:
        genai_span.name = None
    return genai_span


def _is_of_call(key: str) -> bool:
    words = words_of(key)
    return "tool" in words or ACTION.search(words) is not None


def _read_call(genai_span: GenAISpan, span: Span, values: Values) -> None:
    genai_span.call_id = first_line(values.get("call_id", ()))
    genai_span.arguments = arguments_among(values.get("input", ()), genai_span.name)
    if genai_span.arguments is None:
        genai_span.arguments = (
            grouped_arguments(span.attributes)
            or arguments_one_by_one(span.attributes)
            or arguments_under_one_key(span.attributes)
            or described_input(span.attributes)
        )
    if genai_span.arguments is None and (request := request_among(span.attributes)) is not None:
        genai_span.call_id, genai_span.arguments = genai_span.call_id or request[0], request[1]
    elif genai_span.arguments is None:
        genai_span.arguments = answered_request(span.attributes, has_failed=genai_span.status == "error")
    genai_span.agent = first_line(values.get("agent", ()))
    genai_span.conversation_id = first_line(values.get("conversation", ()))
    if genai_span.status == "unset" and "output" not in values:
        set_raised(genai_span, span)
    if "output" not in values:  # a loop may look the tool up, and check its arguments, inside the span
        genai_span.refusal = genai_span.refusal or denial_in(values)
        doubt_failure(genai_span)
        if answer_of_failure(described_output(span.attributes)) == "failed":
            genai_span.status = "error"
    _read_outcome(genai_span, values)
    if genai_span.status == "error" and (genai_span.refusal is None or not genai_span.refusal.is_sure):
        genai_span.refusal = refusal_among(span.attributes) or genai_span.refusal or refusal_told(values)
    if genai_span.status == "unset" and genai_span.refusal is None and has_unknown_status(values):
        genai_span.note(outcome="told")


def _read_outcome(genai_span: GenAISpan, values: Values, *, has_status: bool = False) -> None:
    """Read what came of a call from its result, and from flags beside it. What only words say is left to its ``status``."""
    outputs = values.get("output", ())
    output = next((value for value in outputs if value not in _EMPTY), next(iter(outputs), None))
    result = tool_result(None, output)
    denial = denial_in(values)
    genai_span.refusal = genai_span.refusal or result.refusal or denial
    answer = "" if has_status else answer_of_failure(output)
    is_failure = is_flagged(output) if has_status else result.failed or answer == "failed"
    if is_failure or says_failure(values) or (denial is not None and denial.is_sure):
        genai_span.status = "error"
    elif (result.is_open and not has_status) or answer == "open":
        doubt_outcome(genai_span)


def _mark_unreadable(genai_span: GenAISpan, attributes: Mapping[str, Any], values: Values) -> None:
    """Mark the arguments of a call as there and unreadable if something recorded may be them, and nothing tells."""
    if genai_span.arguments is None and (
        any(map(is_positional, values.get("input", ())))
        or may_hold_arguments(attributes)
        or any(map(is_written_object, inputs_of_words(attributes)))
    ):
        genai_span.arguments = UNREADABLE


def complete(genai_span: GenAISpan, span: Span, attributes: Mapping[str, Any]) -> None:
    """Add to a tool call what ``attributes`` hold of it, which its own dialect does not know, and the span's events."""
    values = values_by_meaning(attributes)
    if "output" in values and semconv.TOOL_CALL_RESULT not in span.attributes:
        _read_outcome(genai_span, values, has_status=True)
    # The span's own name may tell less than any attribute; what a convention has for the name of a tool tells most.
    if span.attributes.keys().isdisjoint(semconv.TOOL_NAMES):
        genai_span.name = first_line(values.get("tool_name", ())) or genai_span.name
    genai_span.call_id = genai_span.call_id or first_line(values.get("call_id", ()))
    if genai_span.arguments is not None:
        return
    if span.events:
        attributes = merged(attributes, _inputs_in_events(span))
        values = values_by_meaning(attributes)
    genai_span.refusal = genai_span.refusal or denial_in(values)
    arguments = arguments_among(values.get("input", ()), genai_span.name)
    if arguments is None:
        arguments = arguments_one_by_one(attributes)
    parsed = parse_any(arguments)
    # Where content is not captured, some tracers write an empty object, and no result that says anything either.
    if isinstance(parsed, Mapping) and (parsed or any(value not in _EMPTY for value in values.get("output", ()))):
        genai_span.arguments = arguments
    else:
        _mark_unreadable(genai_span, attributes, values)


def _inputs_in_events(span: Span) -> dict[str, Any]:
    """Returns what the span's events may hold of a call's input: all that is no exception, no result and no message."""
    found: dict[str, Any] = {}
    for event in span.events[:MAX_EVENTS]:
        about = meaning_of(event.name)
        if event.name not in _OTHER_EVENTS and about not in ("output", "failure"):
            # In an event that is the input, each attribute is a part of it.
            prefix = f"{event.name}." if about == "input" else ""
            found.update((f"{prefix}{key}", value) for key, value in event.attributes.items())
    return found


def merged(attributes: Mapping[str, Any], others: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns both. ``attributes`` prevail, and come first: only so many are looked at."""
    return {**attributes, **others, **attributes}
