"""Whether the messages of a run prove that its calls are all there are, so that a span that is missing cannot be one more."""

from __future__ import annotations

from collections.abc import Iterable

from collector.payloads.messages import tool_call_parts
from collector.reconstruction.drafts import DraftCall, RunSpans


def accounts_for(run: RunSpans, calls: Iterable[DraftCall]) -> bool:
    """Whether all answers of its models were captured, they asked for exactly these calls, and it is known that each ran.

    A tool's span that is missing would leave a request without a call, a model's a call without a request. Unless spans show
    all calls, and the agent's that the run ended, the last answer has to ask for none. Calls that may be another run's are
    left aside.
    """
    models = [model for model in run.models if model.tracing != "memory"]
    if not models or run.has_unrecorded_calls or not all(model.has_output for model in models):
        return False
    own = [call for call in calls if call.doubt != "uncertain_owner"]
    if any(call.doubt is not None or call.turn < 0 for call in own):
        return False
    last = max(models, key=lambda model: model.start_ns)
    if last.finish != "tool_calls" and (last.output is None or not tool_call_parts(last.output)):
        return True
    return "missing_anchor" not in run.incomplete and all(call.known_by == "span" for call in own)
