"""The tool calls that the models of one run requested, and what the models were told of them.

A request seen twice counts once: in nested client spans, under one response id, in an output that repeats earlier ones.
Ids are those of one turn: a model may use them again in the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collector.model.genai_span import GenAISpan
from collector.payloads.history import calls_in_history
from collector.payloads.messages import ToolCallPart, tool_call_parts
from collector.payloads.offered_tools import FITS, Fit
from collector.payloads.provider_results import is_id_of_provider, provider_result
from collector.payloads.tool_results import ResultStatus, ToolResult, result_in
from collector.payloads.values import Arguments, are_several_objects, parse_arguments, parse_json
from collector.reconstruction.drafts import DraftCall, by_start, clock_of, latest_start

MAX_REQUESTED: Final = 10_000
"""How many calls requested by the models of one run are read; where there are more, calls are unrecorded."""
MAX_CANDIDATES: Final = 64
"""With how many requests of one tool a call without a known id is compared."""

MIN_ID: Final = 12
"""Shortest id, in characters, that no two calls of a conversation have: some frameworks number the calls of each run."""

_RAW: Final = "raw"


@dataclass(slots=True)
class RequestedCall:
    """A tool call requested by a model: call ``position`` of the run's output ``turn``, counting outputs with calls."""

    id: str | None
    name: str
    arguments: Arguments
    arguments_text: str | None
    turn: int
    position: int
    model: GenAISpan
    """The request whose output it is in; if that was not recorded, the one that tells of it."""
    execution: DraftCall | None = None
    """The execution that it was matched with."""
    result_status: ResultStatus | None = None
    """The status of its result in a later request to the model, None if no result of that request failed; or in the answer."""
    is_recorded: bool = True
    """An output was recorded that holds it; else only a later input tells of it."""
    fit: Fit = ""
    """Whether the tools that the model was offered would take it."""
    by_provider: bool = False
    """The provider of the model runs it."""
    provided: ResultStatus | None = None
    """What became of it by an answer of the model, if its provider ran it."""
    made_before: GenAISpan | None = None
    """If no output was recorded that holds it: the first request that was made after it, by what was told of others."""


def requested_calls(models: Sequence[GenAISpan]) -> list[RequestedCall]:
    """Returns the calls requested by ``models``, which are sorted by start."""
    requested: list[RequestedCall] = []
    by_id: dict[str, RequestedCall] = {}
    responses: dict[str, list[RequestedCall]] = {}
    outer: list[RequestedCall] = []
    turn = 0
    for model in models:
        if model.output is None:
            continue
        if len(requested) >= MAX_REQUESTED:
            break
        answers: list[Mapping[Any, Any]] = []
        calls = _calls_in(model, turn, answers)
        for part in answers:
            _note_answer(part, calls, by_id)
        if not calls:
            continue
        # Some providers use a response id again, so the calls must be equal, too.
        same_response = responses.setdefault(model.response_id, calls) if model.response_id is not None else calls
        if (
            same_response is not calls
            and _are_equal(calls, same_response)
            and not _is_later(calls[0], same_response[0])
        ):
            continue
        if outer and 0 < model.start_ns <= model.end_ns <= outer[0].model.end_ns and _are_equal(calls, outer):
            # A client inside a client.
            for known, repeated in zip(outer, calls, strict=True):
                known.id = known.id or repeated.id
                known.provided = known.provided or repeated.provided
                known.fit = known.fit or repeated.fit
            continue
        outer = calls
        turn = calls[-1].turn + 1
        is_cumulative = _repeats(calls, by_id)
        requested += [call for call in calls if _is_new(call, by_id, is_cumulative=is_cumulative)]
    _set_result_statuses(models, requested)
    return requested


def _calls_in(model: GenAISpan, turn: int, answers: list[Mapping[Any, Any]]) -> list[RequestedCall]:
    """Returns the calls in a model's output, and adds the parts that tell what came of calls to ``answers``.

    Left out are those that an instrumentation joined into one, as OpenInference for JavaScript does with those of a
    stream: their ids, names and arguments one after the other. The next request tells them apart, or nothing does.
    """
    calls: list[RequestedCall] = []
    told = 0
    for position, part in enumerate(tool_call_parts(model.output, answers)):
        # What was told before it came of calls before it. Google's SDK makes them, and its loop is one answer for Traceloop.
        if part.answers_before > told:
            turn, told = turn + bool(calls), part.answers_before
        call = _requested_call(part, model, turn, position)
        if call.arguments_text is None or not are_several_objects(part.arguments):
            calls.append(call)
    return calls


def _requested_call(part: ToolCallPart, model: GenAISpan, turn: int, position: int) -> RequestedCall:
    # In a request an empty text means no arguments. On a tool's span it means that none were captured.
    arguments, text = ({}, None) if part.arguments == "" else parse_arguments(part.arguments)
    if (raw := _raw_text(arguments)) is not None:
        arguments, text = None, raw
    fits = "" if model.content is None else model.content.fits
    fit = FITS[fits[position]] if position < len(fits) else ""
    return RequestedCall(
        part.id, part.name, arguments, text, turn, position, model, fit=fit, by_provider=part.by_provider
    )


def _note_answer(part: Mapping[Any, Any], calls: Sequence[RequestedCall], before: Mapping[str, RequestedCall]) -> None:
    """Note what a part of an answer tells of one of its own ``calls``, or of one ``before``: a provider that pauses the
    answer during a call goes on in the next."""
    result = provider_result(part)
    if result is None:
        return
    if result.call_id is None:
        unnumbered = (one for one in calls if one.id is None and one.provided is None)
        call = next((one for one in unnumbered if result.name in (None, one.name)), None)
    else:
        call = next((one for one in calls if one.id == result.call_id), before.get(result.call_id))
    if call is not None and (call.by_provider or is_id_of_provider(call.id)):
        call.provided = result.status(call.name)
    elif call is not None and (told := result_in(part)) is not None:
        call.result_status = told.status(call.name)


def _raw_text(arguments: Arguments) -> str | None:
    """Returns the text that is no JSON and that a tracer put into an object of its own (openlit); None if it is none."""
    text = arguments[_RAW] if arguments is not None and arguments.keys() == {_RAW} else None
    return text if type(text) is str and text.startswith("{") and parse_json(text) is None else None


def _are_equal(calls: Sequence[RequestedCall], others: Sequence[RequestedCall]) -> bool:
    return len(calls) == len(others) and all(
        call.name == other.name and call.arguments == other.arguments for call, other in zip(calls, others, strict=True)
    )


def _repeats(calls: Iterable[RequestedCall], by_id: Mapping[str, RequestedCall]) -> bool:
    """Whether an output with calls of new ids beside known ones repeats the conversation: its known calls are history.

    Not if a known id is that of another call now, or one that numbers the calls of an answer, as all of them may be.
    """
    has_new = False
    for call in calls:
        known = None if call.id is None else by_id.get(call.id)
        if known is None:
            has_new = has_new or call.id is not None
        elif len(known.id or "") < MIN_ID or not _are_equal([call], [known]):
            return False
    return has_new


def _is_new(call: RequestedCall, by_id: dict[str, RequestedCall], *, is_cumulative: bool) -> bool:
    if call.id is None:
        return True
    known = by_id.setdefault(call.id, call)
    if known is call:
        return True
    if _are_equal([call], [known]) and (is_cumulative or not _is_later(call, known)):
        return False
    # Providers use ids again in later turns: what follows repeats the newest call of that id.
    by_id[call.id] = call
    return True


def _is_later(call: RequestedCall, known: RequestedCall) -> bool:
    """Whether the same words are another call: the model had been told more when it requested it.

    A request that is sent again because it failed has the input of the first.
    """
    model, before = call.model, known.model
    if not model.start_ns or min(model.start_ns, model.end_ns) < max(before.start_ns, before.end_ns):
        return False  # by the clock it did not follow, or nothing tells whether it did
    if model.history is not None:
        return before.history is None or bool(model.history != before.history)  # shorter where it was trimmed
    if model.tool_results and model.tool_results != before.tool_results:
        return True
    # The finish reason tells a new request from an answer that only repeats the calls before it.
    is_other_answer = None not in (ids := {model.response_id, before.response_id}) and len(ids) == 2
    return is_other_answer and (model.finish == "tool_calls" or _is_numbered(call)) and before.status != "error"


def _is_numbered(call: RequestedCall) -> bool:
    """Whether a tracer made up its id, which tells it from other calls of the same answer alone: Google's models give none, nor
    the reason that they ask for tools.
    """
    name, _, number = (call.id or "").rpartition("_")
    return name == call.name and number.isdecimal()


def _set_result_statuses(models: Iterable[GenAISpan], requested: Sequence[RequestedCall]) -> None:
    """Set the statuses of results: by call id, or by position among the calls requested last if no id is known, because
    results have other ids than requests, or none."""
    by_model: dict[bytes, list[RequestedCall]] = {}
    for call in requested:
        if call.provided is None:  # else no later request is the first that tells of it
            by_model.setdefault(call.model.span_id, []).append(call)
    by_id: dict[str, RequestedCall] = {}
    newest: list[RequestedCall] = []
    is_unknown = False
    for model in models:
        # Results come before the model's own calls: its input cannot tell of its answer, nor can that of a client inside.
        if model.tool_results and not (newest and _is_same_input(model, newest[0].model)):
            calls: list[RequestedCall | None] = [by_id.get(result.call_id or "") for result in model.tool_results]
            if all(found is None for found in calls) and not (
                is_unknown and _have_other_ids(model.tool_results, newest)
            ):
                calls = _last_with_last(model.tool_results, newest) or calls
            for found, result in zip(calls, model.tool_results, strict=True):
                if found is not None:
                    found.result_status = result.status(found.name)
        # An answer without calls does not hide those whose results are still to be told, one that is unknown may.
        is_unknown = model.span_id not in by_model and (is_unknown or model.output is None)
        newest = by_model.get(model.span_id, newest)
        by_id.update({call.id: call for call in newest if call.id is not None})


def _is_same_input(inner: GenAISpan, model: GenAISpan) -> bool:
    """Whether a request is below another and was told what that was told."""
    return inner.parent_span_id == model.span_id and inner.tool_results == model.tool_results


def _have_other_ids(results: Sequence[ToolResult], calls: Sequence[RequestedCall]) -> bool:
    """Whether results and calls all have ids of one provider, which no two calls share."""
    ids = [*[result.call_id for result in results], *[call.id for call in calls]]
    return all(one is not None and len(one) >= MIN_ID for one in ids)


def _last_with_last(
    results: Sequence[ToolResult], newest: Sequence[RequestedCall]
) -> list[RequestedCall | None] | None:
    """Returns the call of each result, where ids do not tell; None if their numbers do not either.

    There are more of them where the model's own messages between results were left out (openlit).
    """
    earlier = len(results) - len(newest)
    if earlier < 0 or (earlier > 0 and any(result.call_id is not None for result in results)):
        return None
    return [*[None] * earlier, *newest]


def covers_requests(model: GenAISpan, models: Iterable[GenAISpan]) -> bool:
    """Whether several requests are inside its span, which may hold the input of any of them."""
    return sum(one.parent_span_id == model.span_id for one in models) > 1


def in_causal_order(models: Sequence[GenAISpan]) -> tuple[list[GenAISpan], bool]:
    """Returns model requests in the order in which they were made, and whether anything tells that order.

    By start; where starts are missing or equal, by how many tool calls of the conversation each was told of.
    """
    ordered = sorted(models, key=by_start)
    starts = {model.start_ns for model in models}
    if len(starts) == len(models) and 0 not in starts:
        return ordered, True
    known = {id(model): len(calls_in_history(model.history)) if model.history is not None else 0 for model in models}
    ordered.sort(key=lambda model: known[id(model)])
    return ordered, len(set(known.values())) == len(models)


def asked_at_once(
    requested: Iterable[RequestedCall], inside: Collection[bytes]
) -> tuple[GenAISpan, Sequence[RequestedCall]] | None:
    """Returns the later of two requests to models that asked for calls and ran at once, as those of a graph's parallel
    branches do, with the calls of the other; None if there are none. Of two clocks, which may be wrong, a request that was
    told of these calls tells otherwise. ``inside`` are the ids of requests that tools made.
    """
    asked: dict[bytes, list[RequestedCall]] = {}
    for call in requested:
        if call.model.span_id not in inside:
            asked.setdefault(call.model.span_id, []).append(call)
    latest: GenAISpan | None = None
    for model in sorted([calls[0].model for calls in asked.values()], key=by_start):
        if (
            latest is not None
            and latest_start(model.start_ns) < latest.end_ns
            and model.instrumentation == latest.instrumentation
            and latest.span_id != model.parent_span_id
            and not (model.is_transcript or latest.is_transcript)
            and (clock_of(model.resource) == clock_of(latest.resource) or not was_told(model, asked[latest.span_id]))
        ):
            return model, asked[latest.span_id]
        if latest is None or model.end_ns > latest.end_ns:
            latest = model
    return None


def was_told(model: GenAISpan, calls: Iterable[RequestedCall]) -> bool:
    """Whether the input of a request holds one of these calls, by its id, so that it was made after that."""
    ids = {call.id for call in calls} - {None}
    return bool(ids) and model.history is not None and any(call.id in ids for call in calls_in_history(model.history))
