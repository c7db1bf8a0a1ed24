"""Merges the spans that record one call, outermost first: a framework's, those of clients and servers inside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from collector.model.genai_span import BY_SHAPE, GenAISpan
from collector.model.tracing import USUAL
from collector.payloads.refusals import BEGAN, refuses
from collector.payloads.values import parse_arguments
from collector.reconstruction.drafts import ONLY_ATTRIBUTES, DraftCall, by_start, clock_of, is_broken, is_of_parser
from collector.reconstruction.frameworks import VOLTAGENT
from scorers.trajectory import Status

_UNTOLD: Final = ("told", "begun", "words")
"""What is noted of a span that does not say whether the call failed."""


def merged_execution(spans: Sequence[GenAISpan]) -> DraftCall:
    """Returns one call from the spans that record it, outermost first: an inner one supplies what the outer one lacks."""
    outer = spans[0]
    if len(spans) > 2 and outer.status != "error":
        spans = _without_repeated(spans)
    arguments, text = parse_arguments(outer.arguments)
    name = outer.name
    if name is None:
        name = next((span.name for span in spans if span.name is not None), "")
    # Models request a tool without the white space that some spans have around its name.
    name = name.strip() or name
    call = DraftCall(
        name, outer.call_id, arguments, text, outer.status, outer.error_type,
        outer.start_ns, outer.end_ns, outer.span_id, resource=outer.resource,
    )  # fmt: skip
    if outer.refusal is not None or len(spans) > 1:
        refusals = [span.refusal for span in spans if span.refusal is not None]
        told = [one for one in refusals if not one.is_untold]
        if told or len(refusals) < sum(span.status == "error" for span in spans):  # another says why it failed
            refusals = told
        # Of two instrumentations one may know what the tool takes.
        refusal = next((one for one in refusals if not one.is_of_arguments), next(iter(refusals), None))
        if refusal is not None and not refusal.is_sure and BEGAN in refusals:
            refusal = BEGAN
        refused = refuses(refusal, name)
        call.executed, call.refusal = refused != "yes", refusal
        if refused == "maybe":
            call.executed = refusal is not None and not refusal.is_likely
            call.doubt_execution("its error may be a refusal: of a human, or of arguments that do not fit the tool")
    if call.executed and call.status == "error" and is_broken(text):
        if is_of_parser(call.error_type) or (call.refusal is not None and call.refusal.is_of_arguments):
            call.executed, call.doubt = False, None
        else:
            call.doubt_execution("its arguments are no JSON, which may be why it failed")
    if outer.tracing.identity == "guessed" and all(span.tracing.identity == "guessed" for span in spans):
        call.doubt_execution(ONLY_ATTRIBUTES)
    if len(spans) > 1:
        _fill_in(call, spans[1:])
    call.is_silent = outer.tracing.outcome == "text" or (call.status == "unset" and _are_silent(spans))
    call.is_in_words = outer.tracing.outcome == "words"
    return call


def doubt_unparsed(calls: Iterable[DraftCall]) -> None:
    """Doubt calls whose arguments nothing holds and that ended with the error of a parser of JSON: perhaps the framework's,
    before it called the tool.
    """
    for call in calls:
        is_untold = call.arguments is None and call.arguments_text is None and call.doubt is None
        if call.status == "error" and is_untold and call.executed and is_of_parser(call.error_type):
            call.doubt_execution("a parser of JSON failed, perhaps on its arguments, which were not recorded")


def refuse_with_run(calls: Iterable[DraftCall], anchor: GenAISpan | None) -> None:
    """Decide that the call did not run with whose denial a run of VoltAgent ended: its span is that of one that failed."""
    if anchor is None or anchor.dialect != VOLTAGENT or anchor.refusal is None or anchor.refusal.tool is None:
        return
    failed = [call for call in calls if call.status == "error" and call.executed]
    failed = [call for call in failed if refuses(anchor.refusal, call.name) == "yes"]
    for call in failed:
        if len(failed) == 1:
            call.executed, call.doubt = False, None
        else:
            call.doubt_execution("one of the calls of its tool was denied, and the others failed")


def _are_silent(spans: Sequence[GenAISpan]) -> bool:
    """Whether none of a call's spans would say that it failed; those in unknown words say it no more than those inside."""
    return any(span.tracing.outcome in _UNTOLD for span in spans) and all(
        span.tracing.outcome in _UNTOLD or (span.dialect == BY_SHAPE and span.tracing is USUAL) for span in spans
    )


def _fill_in(call: DraftCall, inner_spans: Iterable[GenAISpan]) -> None:
    """Take what the outermost span of a call lacks from the spans inside."""
    inner_status: Status = "unset"
    for inner in inner_spans:
        call.id = call.id or inner.call_id
        if call.arguments is None and inner.arguments is not None:
            call.arguments, call.arguments_text = parse_arguments(inner.arguments)
        if inner.status != "unset" and call.status != "error":
            inner_status = inner.status
        call.error_type = call.error_type or inner.error_type
    if inner_status != "unset":
        # A framework that passes the failure to the model reports success; the last attempt inside has the real status.
        call.status = inner_status


def _without_repeated(spans: Sequence[GenAISpan]) -> Sequence[GenAISpan]:
    """Returns the spans of a call but for attempts that failed before another began that did not, whatever is around each."""
    if all(span.status != "error" for span in spans):
        return spans
    # By one clock: a server's may put what it did before the request of its client.
    last = {clock_of(span.resource): span.start_ns for span in sorted(spans, key=by_start) if span.status != "error"}
    repeated: set[bytes] = set()
    for span in spans:  # outermost first
        has_failed = span.status == "error" and 0 < span.end_ns <= last.get(clock_of(span.resource), 0)
        if has_failed or span.parent_span_id in repeated:
            repeated.add(span.span_id)
    return [span for span in spans if span.span_id not in repeated]
