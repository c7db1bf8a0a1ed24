"""What the evidence of one run leaves open, in sentences that say what would settle it. `scorers.doubts` defines each doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from collector.model.genai_span import AGENT
from collector.reconstruction.accounts import accounts_for, asked_last
from collector.reconstruction.confirmation import unconfirmed_reading
from collector.reconstruction.context import RunContext
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.frameworks import TRACE_NO_REQUESTS
from collector.reconstruction.ordering import Unordered
from scorers.quoting import shorten
from scorers.trajectory import Doubt

AWAITED = frozenset({
    "missing_span", "missing_step", "missing_anchor", "unrecorded_calls", "uncertain_execution", "unknown_route",
})  # fmt: skip
"""Doubts that tell of a span still to come: it is waited for until the trace is idle.

Not `uncertain_owner`: if a span of this process would settle it, that is missing, which is a doubt of its own.
"""

UNREAD: Final = Doubt(
    "unknown_route", sentence="it was read before there were rules that match its attributes, which are unknown now"
)
"""Of a run of which not all is known that rules match."""
_MAX_NAMED: Final = 3  # tools in a sentence


def run_doubts(
    run: RunSpans, calls: Sequence[DraftCall], context: RunContext, lost: frozenset[bytes], *, needs_intent: bool
) -> list[Doubt]:
    """Returns what is open about the run as a whole. ``lost`` are missing spans of the trace that may be calls.

    With ``needs_intent`` it is open which intent the run has, if a span that may carry it is missing.
    """
    found: list[Doubt] = []
    if "missing_anchor" in run.incomplete:
        found.append(
            Doubt("missing_anchor", sentence="neither the span of an agent nor the root of the trace was received")
        )
    # The span above the run may carry its route, but encloses the run, and so was no call of it. Where it is the agent's,
    # and the last answer asked for tools, what followed is missing as well.
    has_lost_end = run.may_lack_agent and asked_last(run)
    if lost and (has_lost_end or lost - {run.missing_ancestor}):
        if accounts_for(run, calls):
            sentence = "a span was not received; by the messages of the run it is no tool call"
            found.append(Doubt("missing_step", sentence=sentence))
        else:
            sentence = "a span was not received whose children were: it may be a tool call"
            found.append(Doubt("missing_span", sentence=sentence))
    unconfirmed = unconfirmed_reading(run, calls)
    if unconfirmed is not None:
        found.append(unconfirmed)
    if run.has_unrecorded_calls:
        found.append(Doubt("unrecorded_calls", sentence="tools were called, and neither messages nor spans say which"))
    if run.goes_on:
        found.append(Doubt("other_traces", sentence="the agent goes on in other traces: score the conversation"))
    elif not calls and _is_silent(run):
        found.append(Doubt("nothing_recorded", sentence="neither tool spans nor the output of a model were recorded"))
    lacks = "route" if context.route is None else "intent" if needs_intent and context.intent is None else ""
    if run.missing_ancestor and lacks:
        sentence = f"a span above the run was not received, and may carry its {lacks}"
        found.append(Doubt("unknown_route", sentence=sentence))
    elif run.has_unseen_caller and context.route is None:
        found.append(Doubt("missing_remote_parent", sentence="the caller, in another process, sent no span"))
    if context.unread:
        found.append(UNREAD)
    return found


def _is_silent(run: RunSpans) -> bool:
    """Whether nothing recorded would show a tool call."""
    models = [*run.models, *(model for disputed in run.disputed for model in disputed.models)]
    if models:
        return not run.has_spans_of_all and not any(model.has_output or model.finish for model in models)
    anchor = run.anchor
    # Where requests leave spans, and none arrived, those of calls may have been lost with them.
    if run.children or anchor is None or anchor.role is not AGENT:
        return False
    return not run.has_spans_of_all or (
        anchor.dialect not in TRACE_NO_REQUESTS and anchor.scope not in TRACE_NO_REQUESTS
    )


def call_doubts(calls: Sequence[DraftCall], unordered: Sequence[Unordered]) -> list[Doubt]:
    """Returns what is open about single calls: whether they ran, in this run, and in which order."""
    found: list[Doubt] = []
    for at, call in enumerate(calls):
        if call.doubt is not None:
            found.append(Doubt(call.doubt, (at,), f"{shorten(call.name)}: {call.evidence}"))
        # Damaged, or the bare value of a tool that takes one argument: which one it is, nothing says.
        if call.arguments_text is not None:
            found.append(
                Doubt("unreadable_arguments", (at,), f"{shorten(call.name)}: its arguments could not be parsed")
            )
    if unordered:
        # By `id`: calls are mutable, and two may be equal.
        index = {id(call): at for at, call in enumerate(calls)}
        for step in unordered:
            places = tuple(index[id(call)] for call in step.calls)
            orders = tuple(tuple(tuple(index[id(call)] for call in unit) for unit in order) for order in step.orders)
            found.append(Doubt("uncertain_order", places, "nothing tells in which order some calls were made", orders))
    if unseen := tuple(at for at, call in enumerate(calls) if _has_unseen_result(call)):
        names = list(dict.fromkeys([shorten(calls[at].name) for at in unseen]))
        shown = ", ".join([*names[:_MAX_NAMED], *(["..."] if len(names) > _MAX_NAMED else [])])
        found.append(Doubt("unobserved_results", unseen, f"{shown}: no span and no message says whether it failed"))
    return found


def _has_unseen_result(call: DraftCall) -> bool:
    """Whether it may have run, and have failed, and nothing recorded tells."""
    may_have_run = call.executed or call.doubt == "uncertain_execution"
    # An error for want of a span alone, which may have been lost, or by a text that may be the result.
    if call.status == "error":
        return (call.known_by == "request" or call.is_silent) and may_have_run
    return (call.known_by != "span" or call.is_silent) and call.status == "unset" and may_have_run
