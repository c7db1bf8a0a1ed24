"""How runs begin and end around what a human, or the application, answers: whether the rest is in an earlier or later trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collector.model import semconv
from collector.model.from_span import AI_SDK, ANTHROPIC_SDK
from collector.model.genai_span import AGENT, GenAISpan
from collector.model.tracing import WAITS
from collector.payloads.cut_values import is_cut
from collector.payloads.pauses import ENDS_RUN_OF_ADK
from collector.payloads.tool_results import may_contain_results
from collector.payloads.user_input import ends_with_answers, resumes_run
from collector.reconstruction.drafts import RunSpans, by_start, latest_start
from collector.reconstruction.frameworks import (
    ADK_RUST,
    AGENT_FRAMEWORK,
    AGNO,
    BEGIN_TOLD_OF_CALLS,
    BEGIN_WITH_ANSWERS,
    BEGIN_WITH_ASKED_CALLS,
    BEGIN_WITH_CALLS,
    EINO,
    END_WELL,
    END_WELL_TO_WAIT,
    FAIL_OR_WAIT,
    GATEWAYS,
    GENKIT,
    GOOGLE_ADK,
    LANGCHAIN,
    LANGCHAIN_OFFICIAL,
    OPENAI_AGENTS,
    OPENLIT_AGENTS,
    PYDANTIC_AI,
    VERCEL,
)
from collector.reconstruction.known_calls import KnownCalls, is_given_answer, says_that_it_waits
from collector.reconstruction.requested_calls import RequestedCall
from collector.reconstruction.weighing import NOT_TAKEN


def is_fresh(anchor: GenAISpan | None) -> bool:
    """Whether no earlier run waited for what this one began with: then none of the calls told was made before it."""
    return anchor is not None and anchor.tracing.extent == "fresh"


def began_elsewhere(found: Iterable[RequestedCall], run: RunSpans, known: KnownCalls) -> bool:
    """Whether an agent for JavaScript, of Google's ADK or AgentScope, was given what a human answered; or began with a call
    that no answer of the run asked for, and of which its first request tells, or a later one: of inputs that repeat each other
    a trace keeps the longest.
    """
    anchor = run.anchor
    if anchor is None or not _may_be_resumed(run) or anchor.scope not in BEGIN_TOLD_OF_CALLS:
        return False
    first = min(run.models, key=by_start)
    is_resumed = resumes_run(anchor.user_input) or any(
        one.execution is not None and one.execution.start_ns < first.start_ns + (one.model is first) for one in found
    )
    return is_resumed and not known.has_waiting_before(anchor)


def goes_on_here(run: RunSpans, known: KnownCalls) -> bool:
    """Whether what a human answers to a run is in its trace: a later run of its agent, or what is around it and does not
    itself wait for that.
    """
    asked: list[int] = []  # it and those around it whose answer is the same: each is found once
    while (goes_on := known.going_on.get(id(run))) is None:
        asked.append(id(run))
        anchor, outer = run.anchor, run.parent
        is_seen = anchor is None or known.has_run_after(anchor)
        if not is_seen and outer is not None and known.is_awaited_around(run):
            run = outer
        else:
            known.going_on[id(run)] = is_seen or outer is not None
    known.going_on.update(dict.fromkeys(asked, goes_on))
    return goes_on


def _may_be_resumed(run: RunSpans) -> bool:
    """Whether a run may go on from an earlier trace: the outermost, or one inside another that does."""
    return run.parent is None or run.parent.is_continued


def is_part_without_requests(run: RunSpans, known: KnownCalls) -> bool:
    """Whether the span of a run of whose requests to models nothing is recorded tells that it waits, or goes on."""
    anchor = run.anchor
    if anchor is None:
        return False
    is_above_turns = anchor.scope == OPENLIT_AGENTS and anchor.name is None and bool(run.executions)
    is_resumed = (
        (is_above_turns or anchor.tracing.extent == "resumed")
        and _may_be_resumed(run)
        and not known.has_waiting_before(anchor)
    )
    is_waiting = anchor.tracing.outcome in WAITS and not goes_on_here(run, known)
    # Its last answer asked for calls, and beside those that ran one may wait for the application's client.
    may_wait = anchor.finish == "tool_calls" and run.parent is None and not known.has_later_run(anchor)
    return is_resumed or is_waiting or may_wait or _has_agents_elsewhere(run, anchor)


def _has_agents_elsewhere(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether its agents may have traces of their own, as those that ADK for Java runs in parallel."""
    is_alone = run.is_idle and not run.children and anchor.role is AGENT
    return (
        is_alone
        and anchor.scope == GOOGLE_ADK
        and anchor.resource.attributes.get(semconv.TELEMETRY_SDK_LANGUAGE) == "java"
    )


def was_told_of_earlier(run: RunSpans, known: KnownCalls) -> bool:
    """Whether the trace is one request that events tell was told of results: of calls that an earlier trace asked for; or its
    agent began with the answers for which it waited in an earlier trace.
    """
    anchor = run.anchor
    if anchor is not None and _may_be_resumed(run):
        if _continues_earlier_run(run, anchor):
            return not known.has_waiting_before(anchor)
        if (begins_told_of_others(run, anchor) or _is_given_results(anchor)) and known.is_first(anchor):
            return True
        if (is_given_answer(run) or _is_told_of_approval(run)) and not known.has_run_before(anchor):
            return True
        if run.models and anchor.scope in BEGIN_WITH_ANSWERS:
            return False
    if _makes_call_that_waited(run, known):
        return True
    if run.executions or run.children or run.disputed or len(run.models) != 1:
        return False
    model = run.models[0]
    return bool(model.tool_results) and model.history is None and model is anchor and not model.parent_span_id


def _is_told_of_approval(run: RunSpans) -> bool:
    """Whether the first request of a run tells what a human answered to an earlier one."""
    return bool(run.models) and min(run.models, key=by_start).tracing.extent == "resumed"


def _makes_call_that_waited(run: RunSpans, known: KnownCalls) -> bool:
    """Whether a call of the run waited for a human before, and no run of the trace shows that it did."""
    resumed = {spans[0].name for spans in run.executions if spans[0].tracing.extent == "resumed"}
    if not resumed:
        return False
    waited = {spans[0].name for one in (run, *known.runs) for spans in one.executions if spans[0].is_pending}
    return not resumed <= waited


def _continues_earlier_run(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent began with the answers for which it waited: by what it says, or was told first; or, where nothing of its
    messages was captured, by a call before all requests, which a human approved.
    """
    if not run.models:
        return anchor.tracing.extent == "resumed"
    if anchor.scope in BEGIN_WITH_ANSWERS:
        is_answer = resumes_run(anchor.user_input)
        is_told = is_answer or _are_told_first(anchor, run.models) or _begins_with_call(run, anchor)
        is_told = is_told or (anchor.scope in BEGIN_WITH_ASKED_CALLS and _begins_with_asked_call(run))
        return is_told and not is_fresh(anchor)
    if anchor.tracing.extent == "resumed" or _answers_first(run, anchor):
        return True
    is_of_langchain = anchor.scope in LANGCHAIN and any(
        span.tracing.outcome == "hooked" for span in (anchor, *run.wrappers)
    )
    may_begin_with_call = anchor.scope in BEGIN_WITH_CALLS or is_of_langchain
    if (anchor.scope in BEGIN_WITH_ASKED_CALLS or is_of_langchain) and _begins_with_asked_call(run):
        return True
    return _goes_on_with_answers(run, anchor) or (may_begin_with_call and _begins_with_call(run, anchor))


def begins_told_of_others(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent of OpenAI's SDK was told results first, of calls that are not its own: those for which it waited, of
    which a human denied some.
    """
    if anchor.scope not in OPENAI_AGENTS or not run.models or not _are_told_first(anchor, run.models):
        return False
    began = min([model.start_ns for model in run.models])
    return all(spans[0].start_ns > began for spans in run.executions)


def _is_given_results(anchor: GenAISpan) -> bool:
    """Whether an agent of Microsoft's framework is given the results of calls that it had handed out to the application. The
    next agent of a workflow is given those of the one before it.
    """
    return anchor.scope == AGENT_FRAMEWORK and ends_with_answers(anchor.user_input)


def _begins_with_call(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether a run of whose messages nothing was captured, or not the end, began with a call, and then asked a model. By the
    clock of a host that has the call begin before its agent, it may have begun at any time.
    """
    if any((model.history is not None and not is_cut(model.history)) or _was_only_asked(model) for model in run.models):
        return False
    first = min(run.models, key=by_start)
    return any(anchor.start_ns <= spans[0].start_ns and precedes(spans[0], first) for spans in run.executions)


def _begins_with_asked_call(run: RunSpans) -> bool:
    """Whether a call that a model asked for precedes all requests of the run."""
    first = min(run.models, key=by_start)
    return any(spans[0].call_id is not None and precedes(spans[0], first) for spans in run.executions)


def _goes_on_with_answers(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent of Vercel's AI SDK was given what its client, or a human, answered to calls, and nothing after that."""
    if anchor.scope not in AI_SDK or min(run.models, key=by_start).user_input is not None:
        return False
    return ends_with_answers(anchor.user_input)


def precedes(call: GenAISpan, model: GenAISpan) -> bool:
    """Whether a call began before a request, or by a clock of whole milliseconds with it, and before that had an answer."""
    return call.start_ns < model.start_ns or (
        call.start_ns == model.start_ns and latest_start(call.start_ns) < model.end_ns
    )


def _answers_first(run: RunSpans, anchor: GenAISpan) -> bool:
    """Whether an agent, each of whose requests is around the calls that its answer asked for, made one that is in none of them,
    or was told results first: Google's ADK for JavaScript, and TanStack AI, whose scope the application names. A request that
    was lost leaves its calls without a parent.
    """
    if any(model.tracing.extent != "around" for model in run.models):
        return False
    made = any(spans[0].parent_span_id == anchor.span_id for spans in run.executions)
    return made or _are_told_first(anchor, run.models)


def begins_with_answers(anchor: GenAISpan, models: Sequence[GenAISpan]) -> bool:
    """Whether an agent that begins anew with answers was told these first."""
    return anchor.scope in BEGIN_WITH_ANSWERS and _are_told_first(anchor, models)


def _was_only_asked(model: GenAISpan) -> bool:
    """Whether a model was told what the user wants, and of no results: not where the end of what it was told was cut off."""
    return model.user_input is not None and model.tool_results is None and not is_cut(model.user_input)


def _are_told_first(anchor: GenAISpan, models: Sequence[GenAISpan]) -> bool:
    """Whether the first request of an agent tells of results, and of no question of the user's after them; each of those that
    may be the first, where the clock does not tell.

    An agent of Microsoft's framework may be handed over to, and it, Strands and AWS's distro tell in the agent's span what
    it was asked.
    """
    if anchor.scope not in (PYDANTIC_AI, AGNO, EINO) and anchor.user_input is not None:
        return False
    began = min([model.start_ns for model in models])
    return all(
        model.user_input is None
        and (model.tool_results is not None or (model.history is not None and may_contain_results(model.history)))
        for model in models
        if model.start_ns == began
    )


def _ends_with_call_apart(run: RunSpans, requested: Sequence[RequestedCall]) -> bool:
    """Whether no model was asked after a call for whose outcome the run waits: by the clock, or because the call is inside the
    last request. Where one span holds all requests, its answer is that to the last."""
    apart = [spans[0] for spans in run.executions if spans[0].tracing.extent == "apart" and spans[0].status != "error"]
    if not apart or not run.models:
        return False
    if run.anchor is not None and run.anchor.status == "error" and run.anchor.scope in FAIL_OR_WAIT:
        return False
    last = max(run.models, key=by_start)
    if last.is_transcript:
        asked = {one.execution.span_id for one in _asked_last(run, requested) if one.execution is not None}
        return any(call.span_id in asked for call in apart)
    return any(call.parent_span_id == last.span_id or call.start_ns > last.start_ns for call in apart)


def _ends_with_call_of_no_span(run: RunSpans, requested: Sequence[RequestedCall]) -> bool:
    """Whether no model was asked after an answer of which no span shows any call, and none is a misfit, which ends the run: a
    callback of Google's ADK for JavaScript asked a human for each. Others that answer for a tool have the model asked again.
    """
    anchor = run.anchor
    if anchor is None or anchor.scope != GOOGLE_ADK or anchor.status == "error" or not run.models:
        return False
    if max(run.models, key=by_start).tracing.extent != "around":
        return False
    asked = _asked_last(run, requested)
    return bool(asked) and all(
        one.execution is None and one.fit not in NOT_TAKEN and one.name not in ENDS_RUN_OF_ADK for one in asked
    )


def _asked_last(run: RunSpans, requested: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Returns the calls that the last answer of the run asked for."""
    last = max(run.models, key=by_start)
    return [one for one in requested if one.model is last and one.is_recorded]


def _remembers_waiting(run: RunSpans) -> bool:
    """Whether the run's memory was given a call that waits for a human."""
    return any(model.is_pending and model.is_transcript for model in run.models)


def _made_all_asked_last(run: RunSpans, requested: Sequence[RequestedCall]) -> bool:
    """Whether the last answer of the run asked for calls, and each of them was made."""
    asked = _asked_last(run, requested)
    return bool(asked) and all(one.execution is not None for one in asked)


def _may_be_awaited(one: RequestedCall) -> bool:
    """Whether a human, or the application, may run a call later: neither it, nor the provider, nor the framework, which answers
    a call that no tool takes, has done so."""
    return one.execution is None and not one.by_provider and one.fit not in NOT_TAKEN and one.model.finish != "other"


def _asked_unseen(run: RunSpans) -> bool:
    """Whether the last answer asked for calls and was not captured: beside what ran it may have asked for what waits."""
    own = [model for model in run.models if run.anchor is not None and model.scope == run.anchor.scope]
    last = max(own or run.models, key=by_start)
    return last.output is None and last.finish == "tool_calls"


def _ends_well_to_wait(run: RunSpans, anchor: GenAISpan, asked: Sequence[RequestedCall], known: KnownCalls) -> bool:
    """Whether a run that ended well waits for calls that its last answer asked for, of which no span shows one."""
    if anchor.scope in VERCEL and run.parent is not None:
        return False  # the tool inside which it ran has its answer
    if anchor.scope in VERCEL and _asked_unseen(run):
        return not known.has_later_run(anchor)
    if not asked or all(one.execution for one in asked):
        return False
    if anchor.scope in END_WELL or anchor.dialect == GENKIT:
        return any(_may_be_awaited(one) for one in asked) and not known.has_later_run(anchor)
    if anchor.dialect == ADK_RUST:
        return not any(one.execution for one in asked)
    # With content the result of its run tells. One whose form is a tool's, which no span shows, is known as such.
    are_tools = all(one.arguments is None and not one.fit for one in asked) and asked[0].model.content is not None
    return are_tools and not goes_on_here(run, known)


def _ends_unsaid(run: RunSpans, anchor: GenAISpan, requested: Sequence[RequestedCall]) -> bool:
    """Whether the end of the state was cut off that alone tells whether a graph waits, and no span shows any call that its last
    answer asked for.
    """
    if not run.models or not any(span.tracing.extent == "unsaid" for span in (anchor, *run.wrappers)):
        return False
    asked = _asked_last(run, requested)
    return any(map(_may_be_awaited, asked)) and not any(one.execution for one in asked)


def _was_left(run: RunSpans, anchor: GenAISpan, requested: Sequence[RequestedCall], known: KnownCalls) -> bool:
    """Whether an application left the loop of Anthropic's tool runner, which alone ends without a status, when a model had
    asked for calls that did not run: for a human, or to make them itself. Without content they are not known.
    """
    if run.parent is not None or not (_asked_unseen(run) or any(map(_may_be_awaited, _asked_last(run, requested)))):
        return False
    return not known.has_later_run(anchor)


def goes_on_elsewhere(run: RunSpans, requested: Sequence[RequestedCall], known: KnownCalls) -> bool:
    """Whether the trace is one request that asked for tools, and nothing shows them, or one that a gateway saw, or Anthropic's
    own client, which may have; or its agent said that it waits; or, of a framework that shows each call, ended well without
    those that were asked for last: they wait for a human.
    """
    anchor = run.anchor
    if anchor is not None and anchor.scope == LANGCHAIN_OFFICIAL and _made_all_asked_last(run, requested):
        return False
    if anchor is not None and (
        says_that_it_waits(run)
        or anchor.tracing.outcome in WAITS
        or _remembers_waiting(run)
        or _ends_unsaid(run, anchor, requested)
    ):
        return not goes_on_here(run, known)
    if anchor is not None and anchor.scope == AGENT_FRAMEWORK and anchor.status != "error" and _asked_unseen(run):
        return run.parent is None and not known.has_later_run(anchor) and not _made_all_asked_last(run, requested)
    if anchor is not None and anchor.scope.startswith(ANTHROPIC_SDK) and anchor.status == "unset":
        return _was_left(run, anchor, requested, known)
    if (
        anchor is not None
        and anchor.status != "error"
        and (anchor.dialect in END_WELL_TO_WAIT or anchor.scope in END_WELL)
    ):
        return _ends_well_to_wait(run, anchor, _asked_last(run, requested), known)
    if _ends_with_call_apart(run, requested) or _ends_with_call_of_no_span(run, requested):
        return anchor is None or not known.has_run_after(anchor)
    if run.executions or run.children or run.disputed or len(run.models) != 1:
        return False
    model = run.models[0]
    # Spring AI's, of a model without a client: calls and further requests are beside it, and what it was told is unknown.
    # DSPy's, seen by its client alone: those that follow tell.
    is_known_part = model.tracing.extent in ("nested", "step", "code")
    if model.finish == "other":
        requested = [one for one in requested if one.provided is None]  # its provider ran the others, and it went on
    is_of_client = model.scope in GATEWAYS or model.scope.startswith(ANTHROPIC_SDK)
    is_told = is_cut(model.history)  # of calls that cannot be read, which others made
    if not requested and not is_known_part and not is_told and (model.has_output or not is_of_client):
        return False
    # It may be all there is: a program asks a model once which tool to use. A loop without a span around it begins so, too.
    is_whole = model.is_transcript or model.status == "error"
    is_outermost = run.opens_with(model) if model.parent_span_id else model is run.anchor
    return is_outermost and not is_whole
