"""Matches the executions of a run with the requests of its models, by id, arguments, order, and the names both give a tool."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

from collector.checkpoints import checkpoint
from collector.model.from_span import AI_SDK
from collector.model.genai_span import BY_SHAPE, GenAISpan
from collector.payloads.values import Arguments
from collector.reconstruction.dispatchers import is_told_to_call, values_given
from collector.reconstruction.drafts import (
    BROKEN,
    DraftCall,
    RunSpans,
    begin_ns,
    by_start,
    clock_of,
    is_broken,
    latest_start,
)
from collector.reconstruction.frameworks import QWEN_CODE
from collector.reconstruction.requested_calls import MAX_CANDIDATES, MIN_ID, RequestedCall
from collector.reconstruction.tool_names import is_mcp, is_prefixed

PLACEHOLDERS: Final = frozenset({
    "DynamicStructuredTool", "StructuredTool", "DynamicTool", "FunctionTool",
    "****", "***", "[REDACTED]", "[redacted]", "[Filtered]", "[MASKED]", "<REDACTED>", "<redacted>", "__REDACTED__",
})  # fmt: skip
"""What stands in place of a tool's name: classes of LangChain, by which OpenLLMetry names the span of a tool that failed, and
openlit for JavaScript each, and of LlamaIndex; masks of processors that hide what a pattern finds, of which
`scorers.rules.masks` knows more where they hide arguments."""
_TITLE: Final = re.compile(r"\S\s+\S")
"""In the name of a span that says what a call does: no provider takes a tool of such a name."""
_UNUSABLE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def _covers(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the call has the requested arguments; a framework may have added defaults.

    LangChain passes the bare value to a tool of one argument.
    """
    wanted = request.arguments
    if wanted is None:
        return False
    if call.arguments is None:
        return len(wanted) == 1 and call.arguments_text is not None and call.arguments_text in wanted.values()
    return (
        _is_wrapped(call, request)
        or _is_unwrapped(call, request)
        or all(key in call.arguments and call.arguments[key] == value for key, value in wanted.items())
    )


def _is_wrapped(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the span has the requested arguments under the name of the function's only parameter."""
    inner = next(iter(call.arguments.values())) if call.arguments is not None and len(call.arguments) == 1 else None
    return bool(inner) and isinstance(inner, Mapping) and inner == request.arguments


def _is_unwrapped(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the tool has one parameter, named like what tracers put around arguments, and its value was taken for them."""
    inner = (
        next(iter(request.arguments.values()))
        if request.arguments is not None and len(request.arguments) == 1
        else None
    )
    return bool(inner) and isinstance(inner, Mapping) and inner == call.arguments


def _is_equal(call: DraftCall, request: RequestedCall) -> bool:
    return call.arguments is not None and call.arguments == request.arguments


def _has_own_id(call: DraftCall, request: RequestedCall) -> bool:
    return call.id is not None and call.id == request.id and len(call.id) >= MIN_ID


def _has_id_after(call: DraftCall, request: RequestedCall) -> bool:
    return call.id is not None and call.id == request.id and _began_after(call, request)


def _is_equal_after(call: DraftCall, request: RequestedCall) -> bool:
    return _is_equal(call, request) and _began_after(call, request)


def _began_after(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the model was asked before the call began, unless two clocks say so: of equal calls, one whose request was lost
    must not take that of a later one.
    """
    asked_ns = request.model.start_ns
    return asked_ns <= latest_start(begin_ns(call)) or clock_of(call.resource) != clock_of(request.model.resource)


def _lack_arguments(call: DraftCall, request: RequestedCall) -> bool:
    return call.arguments is None or request.arguments is None


_OF_ARGUMENTS: Final = (_is_equal_after, _is_equal, _covers)
# Criteria by which an execution and a request are the same call, the most reliable first.
_AGREEMENTS: Final[tuple[Callable[[DraftCall, RequestedCall], bool], ...]] = (
    _has_own_id,
    _has_id_after,
    lambda call, request: call.id is not None and call.id == request.id,
    _is_equal_after,
    _is_equal,
    _covers,
    lambda call, request: _lack_arguments(call, request) and _began_after(call, request),
    _lack_arguments,
    lambda call, request: request.model.start_ns <= call.start_ns,  # the framework changed the arguments
)


def match(calls: Sequence[DraftCall], requested: Sequence[RequestedCall], run: RunSpans) -> None:
    """Match executions with the requests they fulfil, and let each supply what the other lacks."""
    unmatched_requests: dict[str, list[RequestedCall]] = {}
    for request in requested:
        unmatched_requests.setdefault(request.name, []).append(request)
    unmatched_calls = list(calls)
    # One criterion at a time over all calls: a weak match must not take the request of a call that has its id.
    for agree in _AGREEMENTS:
        if not unmatched_calls:
            break
        shown = unmatched_calls
        if agree in _OF_ARGUMENTS:  # the others cannot be those of a request by it
            shown = [call for call in shown if call.arguments is not None or call.arguments_text is not None]
        lacking = _lacking_spans(shown, unmatched_requests)
        found: set[int] = set()
        for call in _last_first(unmatched_calls, lacking):
            checkpoint()
            requests = unmatched_requests.get(call.name, [])
            at = _fitting(call, requests, agree, last=call.name in lacking)
            if at is not None:
                _unite(call, requests.pop(at))
                found.add(id(call))
        unmatched_calls = [call for call in unmatched_calls if id(call) not in found]
    # What is left on both sides may be one call under two names.
    left = [one for listed in unmatched_requests.values() for one in listed][:MAX_CANDIDATES] if unmatched_calls else ()
    if left:
        spans = {execution[0].span_id: execution[0] for execution in run.executions}
        for call in unmatched_calls:
            checkpoint()
            others = [one for one in left if one.execution is None and not _are_two(call, one)]
            span = spans.get(call.span_id or b"")
            if span is not None and (span.scope in AI_SDK or span.dialect == QWEN_CODE):
                _unite_repaired(call, others)
                continue
            fitting = _renamed(call, span, others)
            if fitting is not None:
                call.name = fitting.name
                _unite(call, fitting)
    _name_values([call for call in unmatched_calls if call.arguments_text is not None], requested)


def _name_values(calls: Sequence[DraftCall], requested: Sequence[RequestedCall]) -> None:
    """Name the bare value of a call as a request of the tool does: LangChain's middleware calls a tool that failed again."""
    for call in calls[:MAX_CANDIDATES]:
        same = [one.arguments for one in requested[:MAX_CANDIDATES] if one.name == call.name and _covers(call, one)]
        if call.arguments is None and same and all(arguments == same[0] for arguments in same):
            call.arguments, call.arguments_text = same[0], None


def _lacking_spans(calls: Iterable[DraftCall], requested: Mapping[str, Sequence[RequestedCall]]) -> set[str]:
    """Returns the tools that models requested more often than spans show them."""
    counts = Counter([call.name for call in calls if call.start_ns])
    return {name for name, count in counts.items() if count < len(requested.get(name, ()))}


def _last_first(calls: Sequence[DraftCall], names: Container[str]) -> Iterable[DraftCall]:
    """Returns the calls in order, those of tools of these names from the last to the first."""
    if not names:
        return calls
    others = [call for call in calls if call.name not in names]
    return others + [call for call in reversed(calls) if call.name in names]


def _fitting(
    call: DraftCall,
    requested: Sequence[RequestedCall],
    agree: Callable[[DraftCall, RequestedCall], bool],
    *,
    last: bool,
) -> int | None:
    """Returns where the first request is that agrees with the call. ``last`` of those made before it began, if some have no
    span: a model that was told of a failure requests the same again, and the call that is seen is not the one that failed.
    """
    # Bounded: a run may request one tool thousands of times.
    begin = max(0, len(requested) - MAX_CANDIDATES) if last else 0
    fitting = (
        begin + at
        for at, one in enumerate(requested[begin : begin + MAX_CANDIDATES])
        if agree(call, one) and not _are_two(call, one)
    )
    first = next(fitting, None)
    if first is None or not last:
        return first
    asked_before = [at for at in (first, *fitting) if _was_asked_before(requested[at], call)]
    return asked_before[-1] if asked_before else first


def _was_asked_before(request: RequestedCall, call: DraftCall) -> bool:
    return request.is_recorded and 0 < request.model.start_ns <= call.start_ns


def _are_two(call: DraftCall, request: RequestedCall) -> bool:
    """Whether a call that messages tell of is another than the request: they have ids of one provider. So is one that had
    been made before this one began, or one that a loop made before or after it; or inside the request that left this one.
    """
    if (
        request.model.tracing.extent == "left"
        and request.model.start_ns <= call.start_ns <= call.end_ns <= request.model.end_ns
    ):
        return True
    if request.made_before is not None and _was_made_before(request.made_before, call):
        return True
    if request.model.tracing.extent == "loop" and _was_made_outside(request.model, call):
        return True
    return call.known_by != "span" and None not in (call.id, request.id) and call.id != request.id


def _was_made_before(model: GenAISpan, call: DraftCall) -> bool:
    """Whether what had been made before a request to the model was made before the call began, by one clock."""
    if model.is_transcript or not 0 < model.start_ns <= model.end_ns < begin_ns(call):
        return False
    return clock_of(call.resource) == clock_of(model.resource)


def _was_made_outside(loop: GenAISpan, call: DraftCall) -> bool:
    """Whether a call was made before or after all of a loop's, by one clock."""
    if not 0 < loop.start_ns <= loop.end_ns or not 0 < call.start_ns <= call.end_ns:
        return False
    is_outside = call.end_ns < loop.start_ns or loop.end_ns < call.start_ns
    return is_outside and clock_of(call.resource) == clock_of(loop.resource)


def _unite_repaired(call: DraftCall, requested: Sequence[RequestedCall]) -> None:
    """Unite a call of Vercel's AI SDK with the request of its id: an application may repair the name of a tool
    (``experimental_repairToolCall``), and the span has that of the tool that ran, as the model was offered it. So has that
    of Qwen Code where the model named the tool, which was kept back, in the arguments of another.
    """
    asked = next((one for one in requested if call.id is not None and one.id == call.id), None)
    if asked is not None:
        asked.fit = ""  # of what the model had asked for
        _unite(call, asked)


def _renamed(call: DraftCall, span: GenAISpan | None, requested: Sequence[RequestedCall]) -> RequestedCall | None:
    """Returns the request of a call whose span names the tool otherwise than the model did."""
    asked = next((one for one in requested if call.id is not None and one.id == call.id), None)
    is_unnamed = call.name in PLACEHOLDERS
    if asked is not None and (is_unnamed or _TITLE.search(call.name) is not None or _is_class_of(call, span, asked)):
        return asked
    if is_unnamed:
        equal = [one for one in requested if call.arguments is not None and call.arguments == one.arguments]
        covered = equal or [one for one in requested if _covers(call, one)]
        return covered[0] if len({one.name for one in covered}) == 1 else None
    names = _under_other_names(call.name, requested, of_server=span is not None and is_mcp(span))
    fitting = next((one for agree in _AGREEMENTS for one in names if agree(call, one)), None)
    if fitting is not None:
        return fitting
    # A prefix of the tracer (`eino.get_weather`) or of a plugin that the model left out, if the arguments agree as well.
    prefixed = next((one for one in requested if _is_prefixed(call, one) and _covers(call, one)), None)
    return prefixed or _dispatched(call, requested)


def _dispatched(call: DraftCall, requested: Sequence[RequestedCall]) -> RequestedCall | None:
    """Returns the request of a call whose span is of the function through which a loop calls its tools: it was given that."""
    given = values_given(call.arguments)
    for one in requested if given else ():
        is_other = None not in (call.id, one.id) and call.id != one.id
        if not is_other and one.arguments is not None and is_told_to_call(given, one.name, one.arguments):
            call.arguments = one.arguments
            if call.status != "error":  # it may catch what a tool raises
                call.status, call.is_silent = "unset", True
            return one
    return None


def _is_class_of(call: DraftCall, span: GenAISpan | None, request: RequestedCall) -> bool:
    """Whether a span read by its shape has the call's id and the name of a class: OpenHands names it after the action.

    Its input is an object of that class, so the arguments are what the model wrote.
    """
    is_class = span is not None and span.dialect == BY_SHAPE and call.name[:1].isupper() and call.name.isalnum()
    if is_class and 0 < request.model.start_ns <= call.start_ns and request.arguments is not None:
        call.arguments, call.arguments_text = request.arguments, None
        return True
    return False


def _is_prefixed(call: DraftCall, request: RequestedCall) -> bool:
    same_id = call.id is not None and call.id == request.id
    return call.name.endswith((f".{request.name}", f"/{request.name}")) or (
        same_id and is_prefixed(call.name, request.name)
    )


def _under_other_names(name: str, requested: Sequence[RequestedCall], *, of_server: bool) -> list[RequestedCall]:
    """Returns the requests of what a tool of this name may be offered to a model as.

    Providers take no name with other characters than these, and frameworks put the server's name before an MCP tool's.
    CrewAI 1.x offers `Delegate work to coworker` as `delegate_work_to_coworker`, and `bookFlight` as `book_flight`.
    """
    usable, plain = _UNUSABLE.sub("_", name), _plain(name)
    named = [one for one in requested if one.name == usable or (of_server and is_prefixed(one.name, name))]
    return named or [one for one in requested if _plain(one.name) == plain != ""]


def _plain(name: str) -> str:
    """Returns the letters and digits of a name, in lower case."""
    return _BETWEEN_WORDS.sub("", name).lower()


def _unite(call: DraftCall, request: RequestedCall) -> None:
    request.execution = call
    if call.doubt == "uncertain_owner":
        call.doubt = None  # this run requested it
    call.turn, call.position = request.turn, request.position
    call.id = call.id or request.id
    if call.arguments is None and call.executed and call.doubt is None and is_broken(request.arguments_text):
        call.doubt_execution(BROKEN)
    call.is_contradicted = None not in (call.arguments, request.arguments) and not _covers(call, request)
    if (call.arguments is None and request.arguments is not None) or (
        _is_wrapped(call, request) or _is_unwrapped(call, request)
    ):
        call.arguments, call.arguments_text = _changed_value(call, request) or request.arguments, None


def _changed_value(call: DraftCall, request: RequestedCall) -> Arguments:
    """Returns the arguments of a call whose bare value is another than the model wrote; None if nothing says that it is.

    LangChain's human in the loop, or a middleware, may change it. A text that was cut, or is an object, is no such value.
    """
    text, wanted = call.arguments_text, request.arguments
    if not text or text[0] in "{[" or wanted is None or len(wanted) != 1:
        return None
    key, value = next(iter(wanted.items()))
    return {key: text} if type(value) is str and not value.startswith(text) else None


def _assign_turns(calls: Iterable[DraftCall], run: RunSpans) -> None:
    """Assign the turn of each request to the calls inside its span."""
    around = sorted([model for model in run.models if model.tracing.extent == "around"], key=by_start)
    turns = {model.span_id: turn for turn, model in enumerate(around)}
    inside = {spans[0].span_id: turns.get(spans[0].parent_span_id, -1) for spans in run.executions}
    for call in calls:
        call.turn = inside.get(call.span_id or b"", -1)


def assign_responses(calls: Iterable[DraftCall], run: RunSpans) -> None:
    """Assign responses if outputs were not captured. Two calls have different ones only where a model was asked after the
    first began, and before the second did, and either had answered by then, or was asked when all calls so far had ended:
    tools may run while an answer streams (Claude Code), or beside a request that has nothing to do with them.
    """
    if run.is_of_code and all(model.has_output for model in run.models):
        return  # the answers are code, which calls one tool after the other
    # A request that runs the tools itself covers several turns, unless it is known to be around those of its own.
    around = {spans[0].parent_span_id for spans in run.executions}
    if run.turns_are_ordered and any(model.tracing.extent == "around" for model in run.models):
        _assign_turns(calls, run)
    requests = sorted([(model.start_ns, model.end_ns) for model in run.models if model.span_id not in around])
    starts = [start for start, _ in requests]
    response, begun, ended = -1, 0, 0
    for call in sorted(calls, key=lambda call: call.start_ns):
        start_ns = latest_start(call.start_ns)
        asked = bisect_right(starts, start_ns)
        since = requests[bisect_left(starts, begun) : asked]
        if response < 0 or any(answered <= start_ns or start >= ended for start, answered in since):
            response = asked - 1
        call.response = response
        begun, ended = call.start_ns, max(ended, call.start_ns, call.end_ns)
