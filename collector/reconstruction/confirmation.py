"""Whether what was read by shape alone is borne out: a reader that guesses what spans mean is no witness for itself.

Words that nobody here has seen may tell of a call in a way that is not recognized, or of something else in the words of a
call. So calls count for sure only where two records that do not depend on one another agree, and the run is known to be
whole only where both tell the same of all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.model.genai_span import BY_SHAPE, GenAISpan
from collector.payloads.messages import asks_for_nothing
from collector.reconstruction.drafts import DraftCall, RunSpans, by_start
from scorers.trajectory import Doubt


def unconfirmed_reading(run: RunSpans, calls: Sequence[DraftCall]) -> Doubt | None:
    """Returns the doubt about a run that rests on spans read by shape, with the calls that one record alone tells of.

    None where nothing was read by shape, or requests of its models and spans or results of its calls match one to one,
    up to an answer that asked for no more.
    """
    executed_by_shape = {
        spans[0].span_id for spans in run.executions if spans[0].dialect == BY_SHAPE and all(map(_is_by_shape, spans))
    }
    models_by_shape = [model for model in run.models if _is_by_shape(model)]
    if not executed_by_shape and not models_by_shape:
        return None
    # A span that holds the conversation tells of requests and of results: one record, and no second.
    is_one_record = bool(models_by_shape) and all(model.tracing.extent == "memory" for model in run.models)
    alone = tuple(
        at
        for at, call in enumerate(calls)
        if ((call.turn < 0 or call.is_contradicted) and call.span_id in executed_by_shape)
        or (call.known_by == "request" and models_by_shape and call.executed)
        or (call.known_by == "result" and is_one_record)
    )
    # Requests read by shape take nothing from calls that spans in known words show, in the order in which these show them.
    is_shown = bool(calls) and not executed_by_shape and _are_in_order_of_spans(calls)
    if not alone and (is_shown or _is_whole(run, calls)):
        return None
    sentence = "its spans are in words that are not known: nothing else bears out what was read of them"
    return Doubt("unconfirmed_reading", alone, sentence)


def _is_by_shape(span: GenAISpan) -> bool:
    return span.dialect == BY_SHAPE


def _are_in_order_of_spans(calls: Sequence[DraftCall]) -> bool:
    starts = [call.start_ns for call in calls]
    return all(call.known_by == "span" for call in calls) and starts == sorted(starts)


def _is_whole(run: RunSpans, calls: Sequence[DraftCall]) -> bool:
    """Whether the models' answers were captured, each call is one that they asked for, and the last asked for none."""
    models = [model for model in run.models if not model.is_transcript]
    if not all(map(_is_by_shape, models)):
        # Beside requests in a known convention, one read by shape counts for what it says, if it says anything.
        models = [model for model in models if model.has_output or not _is_by_shape(model)]
    # Around a request whose answer is known, a span of the client that made it need not tell it again.
    answered = {model.parent_span_id for model in models if model.has_output}
    models = [model for model in models if model.has_output or model.finish or model.span_id not in answered]
    if not models or not all(model.has_output or model.finish == "other" for model in models):
        return False
    last = max(models, key=by_start)
    if last.finish == "tool_calls" or not (last.output is None or asks_for_nothing(last.output)):
        return False
    if not calls:  # an answer in which no request was found may hold one in other words
        return all(model.finish == "other" for model in models)
    # Where tools leave spans, a call without one is the second telling of another, or a guess.
    evidence = {call.known_by for call in calls if call.executed}
    return len(evidence) <= 1 and all(call.turn >= 0 for call in calls)
