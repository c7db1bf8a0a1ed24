"""Whether the messages of a run prove that its calls are all there are, so that a span that is missing cannot be one more."""

from __future__ import annotations

from collections.abc import Iterable

from collector.reconstruction.drafts import DraftCall, RunSpans, by_start


def asked_last(run: RunSpans) -> bool:
    """Whether the last answer of its models asked for tools, so that the request which told their results is missing."""
    last = max([model for model in run.models if not model.is_transcript], key=by_start, default=None)
    return last is not None and (last.finish == "tool_calls" or last.output is not None)


def accounts_for(run: RunSpans, calls: Iterable[DraftCall]) -> bool:
    """Whether the run ended, its models asked for its calls, by answers that were captured or ended otherwise, and spans show
    each of them.

    A tool's span that is missing would leave a request without a call, a model's a call without a request. Calls that may be
    another run's are left aside.
    """
    # What stores the conversation is no request: it asked for nothing and was answered nothing.
    models = [model for model in run.models if not model.is_transcript]
    if not models or run.has_unrecorded_calls or "missing_anchor" in run.incomplete:
        return False
    return (
        not asked_last(run)
        and all(model.has_output or model.finish == "other" for model in models)
        and all(
            call.known_by == "span" and call.turn >= 0 and call.doubt is None
            for call in calls
            if call.doubt != "uncertain_owner"
        )
    )
