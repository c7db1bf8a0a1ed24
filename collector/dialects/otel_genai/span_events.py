"""Messages in the events of a span, where releases of the conventions before 1.37 have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from collector.model import semconv
from collector.model.span import Span, SpanEvent
from collector.payloads.messages import tool_call_parts
from collector.payloads.tool_arguments import arguments_told
from collector.payloads.values import parse_any

_ROLE_OF_EVENT: Final = {
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}
_OF_CHOICE: Final = (semconv.EVENT_MESSAGE, semconv.EVENT_CONTENT, semconv.EVENT_TOOL_CALLS)
_OF_MESSAGE: Final = (semconv.EVENT_CONTENT, semconv.EVENT_TOOL_CALLS, semconv.EVENT_ID)


def messages_in_events(events: Sequence[SpanEvent], output: Any, messages: Any) -> tuple[Any, Any]:
    """Returns a model's output and input, completed from span events."""
    for event in events:
        if event.name == semconv.EVENT_INFERENCE_DETAILS:
            output = output or event.attributes.get(semconv.OUTPUT_MESSAGES)
            messages = messages or event.attributes.get(semconv.INPUT_MESSAGES)
        elif event.name == semconv.EVENT_COMPLETION:
            output = output or event.attributes.get(semconv.COMPLETION)
        elif event.name == semconv.EVENT_PROMPT:
            messages = messages or event.attributes.get(semconv.PROMPT)
    if output is None:
        choices = [_body(event, _OF_CHOICE) for event in events if event.name == semconv.EVENT_CHOICE]
        output = choices or None
    if messages is None:
        messages = [
            {"role": _ROLE_OF_EVENT[event.name], **_body(event, _OF_MESSAGE)}
            for event in events
            if event.name in _ROLE_OF_EVENT
        ]
    return output, messages


def _body(event: SpanEvent, keys: Sequence[str]) -> dict[str, Any]:
    """Returns what an event holds under ``keys``, in attributes or, as JSON, in one."""
    body = parse_any(event.attributes.get(semconv.EVENT_BODY))
    fields = body if isinstance(body, Mapping) else event.attributes
    return {key: fields[key] for key in keys if key in fields}


def event_value(span: Span, event_name: str, key: str) -> object:
    """Returns an attribute of the last event of that name that has it; None if there is none."""
    for event in reversed(span.events):
        if event.name == event_name and key in event.attributes:
            return event.attributes[key]
    return None


def arguments_in_events(span: Span) -> object:
    """Returns the arguments in a message about the call, or in the messages of the conventions of 1.37 (Strands 1.x)."""
    content = event_value(span, semconv.EVENT_TOOL_MESSAGE, semconv.EVENT_CONTENT)
    if content is not None:
        return _arguments_in_message(content)
    return arguments_told(event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.INPUT_MESSAGES))


def _arguments_in_message(content: object) -> object:
    """Returns the arguments in the content of a message: they are it, or it is the call as a model requests it."""
    if type(content) is str and content[:1] == "[" and len(calls := tool_call_parts(content)) == 1:
        return calls[0].arguments
    return content
