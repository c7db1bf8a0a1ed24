"""Indexes the spans of a trace by span id, and merges log events into the model spans they describe."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from collector.checkpoints import in_parts
from collector.model.genai_span import AGENT, BY_SHAPE, EVENT, GROUP, MODEL, OTHER, TOOL, Content, GenAISpan
from collector.model.span_copies import copy_of
from collector.model.tracing import USUAL
from collector.payloads.user_input import user_text
from collector.reconstruction.drafts import by_start
from collector.reconstruction.frameworks import GOOGLE_ADK

MAX_OPEN: Final = 64
"""With how many requests that had begun an event is compared which does not name the span of its own."""


def index_spans(genai_spans: Iterable[GenAISpan]) -> dict[bytes, GenAISpan]:
    """Returns the spans by span id, in order of start: repeated spans once, log events merged into their model span.

    The spans given are not modified.
    """
    spans: dict[bytes, GenAISpan] = {}
    events: dict[bytes, list[GenAISpan]] = {}
    has_transcript = False
    # Sorted, so that the runs do not depend on the order in which spans arrived.
    for span in sorted(genai_spans, key=by_start):
        if span.role is EVENT:
            events.setdefault(span.span_id, []).append(span)
        elif span.span_id:
            spans.setdefault(span.span_id, span)
            has_transcript |= span.history is not None and span.role is not MODEL
    if has_transcript:
        for span in [span for span in spans.values() if span.history is not None and span.role is not MODEL]:
            if span.role is GROUP:
                memory = _memory_of(span, span.parent_span_id, span.history)
            elif (agent := span if span.role is AGENT else _only_agent(spans.values())) is not None:
                memory = _memory_of(agent, agent.span_id, span.history)
            else:
                continue
            spans[memory.span_id] = memory
    below = _requests_by_parent(spans.values()) if events else {}
    for group in in_parts(events.items()):
        for span_id, of_span in group:
            _add_events(spans, span_id, of_span, below.get(span_id))
    _without_conversation(spans)
    return spans


def _add_events(
    spans: dict[bytes, GenAISpan], span_id: bytes, events: list[GenAISpan], requests: deque[GenAISpan] | None
) -> None:
    # Log events have no id of their own: one that was sent again is recognised by its content. By its `repr`, since
    # structured bodies are not hashable.
    unique = {repr((e.start_ns, e.output, e.user_input, e.tool_results)): e for part in in_parts(events) for e in part}
    model = spans.get(span_id)
    if model is not None and model.role is MODEL:
        spans[span_id] = _merged(model, list(unique.values()))
        return
    for number, event in enumerate(unique.values()):
        described = _described(event, requests) if event.scope else None
        model = _model_of_event(event, number) if described is None else _merged(spans[described], [event])
        spans[model.span_id] = model


def _requests_by_parent(spans: Iterable[GenAISpan]) -> dict[bytes, deque[GenAISpan]]:
    found: dict[bytes, deque[GenAISpan]] = {}
    for span in spans:
        if span.role is MODEL and not span.is_transcript:
            found.setdefault(span.parent_span_id, deque()).append(span)
    return found


def _described(event: GenAISpan, requests: deque[GenAISpan] | None) -> bytes | None:
    """Returns the id of the request that an event tells of which names the span around it: openlit writes it as a stream ends.

    The span of the request is open then. Events come in order of time, so what had ended by then is not looked at again.
    """
    while requests and requests[0].end_ns < event.start_ns:
        requests.popleft()
    started = islice(requests or (), MAX_OPEN)
    is_open = [one for one in started if one.scope == event.scope and one.start_ns <= event.start_ns <= one.end_ns]
    if event.response_id is not None:
        is_open = [one for one in is_open if one.response_id in (None, event.response_id)]
    return is_open[0].span_id if len(is_open) == 1 else None


def _merged(model: GenAISpan, events: list[GenAISpan]) -> GenAISpan:
    # A copy: the trace keeps its spans for a revision, which merges the same events again.
    model = copy_of(model)
    if model.output is None:
        model.output = [event.output for event in events if event.output is not None] or None
    asked: object = None  # last: a request that remembers earlier ones tells what the user said then, too
    is_told = False
    for event in events:
        if event.user_input or event.tool_results is not None:
            is_told = not event.user_input
        if event.user_input and user_text(event.user_input):  # not what Google's ADK tells of another agent
            asked = event.user_input
        model.conversation_id = model.conversation_id or event.conversation_id
        if event.content is not None:
            known, new = model.content or Content(), event.content
            model.content = Content(
                known.output or new.output, known.tool_definitions or new.tool_definitions, known.fits or new.fits
            )
        told = event.tool_results
        # openlit writes the whole input into the span and into an event; others write an event for each result.
        if told is not None and (len(told) < 2 or told != model.tool_results):
            model.tool_results = (*(model.tool_results or ()), *told)
    model.user_input = model.user_input or asked or next((one.user_input for one in events if one.user_input), None)
    # Each message of an agent of Google's ADK is an event: if no question follows the results, the run may go on with them.
    if is_told and model.scope == GOOGLE_ADK:
        model.note(extent=model.tracing.extent or "resumed")
    return model


def _model_of_event(event: GenAISpan, number: int) -> GenAISpan:
    """Returns a model request for an event whose span is no model span, or was not received."""
    model = copy_of(event)
    model.role = TOOL if event.name is not None else MODEL
    model.parent_span_id = event.span_id
    model.span_id = event.span_id + number.to_bytes(4, "big")  # longer than a span's id, so no other span has it
    return model


def _without_conversation(spans: dict[bytes, GenAISpan]) -> None:
    """Take from a trace's root, in words that are not known, its conversation, if other spans tell of the same run."""
    told = [span for span in spans.values() if span.role is not OTHER]
    if len(told) < 2:
        return
    for span in told:
        if span.role is MODEL and span.dialect == BY_SHAPE and not span.parent_span_id and type(span.history) is str:
            root = copy_of(span)
            root.role, root.history, root.tool_results, root.tracing = OTHER, None, None, USUAL
            spans[span.span_id] = root


def _only_agent(spans: Iterable[GenAISpan]) -> GenAISpan | None:
    """Returns the agent of a trace in which one agent ran, and nothing else tells what its model was told."""
    agents = []
    for span in spans:
        if span.role is MODEL:
            return None
        if span.role is AGENT:
            agents.append(span)
    return agents[0] if len(agents) == 1 else None


def _memory_of(span: GenAISpan, parent_span_id: bytes, transcript: object) -> GenAISpan:
    """Returns a model span for a transcript: that of an agent's run, in its own span or in one around it, or of a group."""
    memory = GenAISpan(
        span.span_id + b"memory", parent_span_id, span.start_ns, span.end_ns, MODEL, span.dialect, span.resource
    )  # fmt: skip
    memory.history, memory.scope = transcript, span.scope
    memory.note(extent=span.tracing.extent if span.role is GROUP and span.tracing.extent else "memory")
    memory.has_output = span.has_output
    return memory
