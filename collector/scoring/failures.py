"""What a run gets that cannot be scored because of an error of the collector itself: an evaluation that says so.

Nothing that was sent is in it but what the error quotes, for a name or a value may be what failed.
"""

from __future__ import annotations

from typing import Final

from collector.assembly.conversations import Conversation
from collector.assembly.trace import Trace
from collector.model.genai_span import Role
from collector.reconstruction.run import Run
from collector.scoring.verdict import Verdict
from scorers import Evaluation, Trajectory, error_score
from scorers.conformance.scorer import NAME, VERSION

_TRACE_ID: Final = 16  # bytes of the trace id in the anchor of a conversation's run


def failed_run(trace_id: bytes, anchor: bytes, release: str, revision: int, error: Exception) -> Verdict:
    """Returns the verdict on the run that is anchored at this span: label ``error``, and no rule."""
    return _failed(trace_id, anchor, release, revision, error, "run")


def failed_conversation(conversation: Conversation, release: str, error: Exception) -> Verdict:
    """Returns the verdict on a conversation, anchored at the first of its runs that was received."""
    anchor = next(iter(conversation.runs), b"")
    return _failed(anchor[:_TRACE_ID], anchor[_TRACE_ID:], release, conversation.revision, error, "conversation")


def _failed(trace_id: bytes, anchor: bytes, release: str, revision: int, error: Exception, scope: str) -> Verdict:
    run = Run(
        trace_id, anchor, parent_span_id=None, agent=None, conversation_id=None, route=None, intent=None, user_input=None,
        response_id=None, service=None, dialect="", attributes={}, trajectory=Trajectory([]), call_span_ids=(),
        started_by=None,
    )  # fmt: skip
    evaluation = Evaluation(NAME, error_score(error), VERSION, primary=True)
    return Verdict(run, release, revision, evaluations=[evaluation], scope=scope)


def anchor_of(trace: Trace) -> bytes:
    """Returns the span that stands for a trace whose runs are unknown: the first agent's, else the first; b"" for none."""
    spans = sorted(trace.spans.values(), key=lambda span: (span.role != Role.AGENT, span.start_ns))
    return next((span.span_id for span in spans if span.span_id), b"")
