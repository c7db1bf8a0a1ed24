"""The tables of deploy/reference.md, made from the code: ``python -m tests.deploy.reference_table``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from collector import errors
from collector.errors import CollectorError
from collector.model import semconv
from scorers.score import Label, Outcome
from scorers.trajectory import DoubtName
from tests import marked
from tests.deploy.programs import DEPLOY

REFERENCE = DEPLOY / "reference.md"
A, T, E = "agent span", "tool span", "event"
WRITTEN = {
    semconv.RIGHTCALL_RULE: ((A, E), "string", "the rule that scored the run; empty where none applied"),
    semconv.RIGHTCALL_RULE_DIGEST: ((A, E), "string", "changes with the rule"),
    semconv.RIGHTCALL_UNSCORED_REASON: ((A,), "string", "why no rule scored the run"),
    semconv.RIGHTCALL_CLOSEST_RULE: ((A,), "string", "where no rule matches, the one that comes closest"),
    semconv.RIGHTCALL_CLOSEST_RULE_MISMATCHES: ((A,), "strings", "the keys of its `match` that the run is not"),
    semconv.RIGHTCALL_ROUTE: ((A, E), "string", "the route, as the rule and the metrics have it"),
    semconv.RIGHTCALL_INTENT: ((A, E), "string", "the intent"),
    semconv.RIGHTCALL_INTENT_REASON: ((A,), "string", "what in the user's words told the intent"),
    semconv.RIGHTCALL_COMPLETE: ((A, E), "boolean", "nothing recorded says that there were further calls"),
    semconv.RIGHTCALL_DOUBTS: ((A, E), "strings", "what the recording leaves open"),
    semconv.RIGHTCALL_MISSING_TOOLS: ((A, E), "strings", "expected and not called"),
    semconv.RIGHTCALL_EXTRA_TOOLS: ((A, E), "strings", "called and not allowed, forbidden ones among them"),
    semconv.RIGHTCALL_CALLS_WITHOUT_SPAN: ((E,), "strings", "calls that only messages tell of"),
    semconv.RIGHTCALL_RUN_URL: ((E,), "string", "the run in the console, where `console.public_url` is set"),
    semconv.RIGHTCALL_OUTCOME: ((T,), "string", "the outcome of the call"),
    "rightcall.<scorer>.score": ((A,), "double", "the score of each scorer, from 0 to 1"),
    "rightcall.<scorer>.label": ((A,), "string", "its label"),
    semconv.EVALUATION_NAME: (
        (A, E),
        "string",
        "the scorer: on a span the first of the rule, on an event that of the event",
    ),
    semconv.EVALUATION_SCORE_VALUE: ((A, E), "double", "its score"),
    semconv.EVALUATION_SCORE_LABEL: ((A, E), "string", "its label"),
    semconv.EVALUATION_EXPLANATION: ((A, E), "string", "how the score comes about, without values of arguments"),
    semconv.ERROR_TYPE: ((E,), "string", "why a scorer failed"),
    semconv.AGENT_NAME: ((E,), "string", "the agent, as its span has it"),
    semconv.CONVERSATION_ID: ((E,), "string", "the conversation, where known"),
    semconv.RESPONSE_ID: ((E,), "string", "the model's response, where known"),
    semconv.RIGHTCALL_SCORER_VERSION: ((E,), "string", "changes where the same run may get another score"),
    semconv.RIGHTCALL_SCOPE: ((E,), "string", "`trace` or `conversation`; absent for a run"),
    semconv.RIGHTCALL_REVISION: ((E,), "int", "0 for the first verdict; higher where a late span revised it"),
    semconv.LOG_RECORD_UID: ((E,), "string", "the same when the event is sent again"),
}
"""Everything that Rightcall writes, where, and what it means."""


def attributes() -> str:
    """The table of attributes."""
    rows = [
        f"| `{name}` | {kind} | {', '.join(places)} | {meaning} |" for name, (places, kind, meaning) in WRITTEN.items()
    ]
    return "\n".join(["| attribute | type | on | what |", "|---|---|---|---|", *rows]) + "\n"


def values() -> str:
    """The table of closed sets of values."""
    return "\n".join(["| where | values |", "|---|---|", *(_row(*row) for row in _sets())]) + "\n"


def _sets() -> Iterator[tuple[str, list[str]]]:
    yield "`gen_ai.evaluation.score.label`, metric label `label`", sorted(get_args(Label))
    yield "metric label `label` also", ["revised", "shadow_<label>"]
    yield "`rightcall.outcome`, metric label `outcome`", sorted(get_args(Outcome))
    yield "`rightcall.doubts`", sorted(get_args(DoubtName))
    yield "`rightcall.unscored_reason`", ["internal", "no_rule", "unknown_route"]
    kinds = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, CollectorError)]
    yield "`reason` of `rightcall_receiver_refused_spans_total`", sorted({kind.reason for kind in kinds})


def _row(where: str, names: list[str]) -> str:
    return f"| {where} | {', '.join(f'`{name}`' for name in names)} |"


def reference() -> str:
    """The document with its tables brought up to date."""
    return marked.replaced(
        marked.replaced(REFERENCE.read_text("utf-8"), "attributes", attributes()), "values", values()
    )


if __name__ == "__main__":
    REFERENCE.write_text(reference(), "utf-8")
