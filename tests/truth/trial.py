"""Changed recordings through the pipeline in simulated time, and what their verdicts are worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.config.model import Config
from collector.pipeline import Pipeline
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers import load_rules
from tests.sinks import ManualClock
from tests.truth.changes import Change, none
from tests.truth.recording import Recording, requests, role, texts

TRACES = {"settle": 1, "confirm": 3, "idle_timeout": 3, "max_duration": 600}
_STEP = 0.25  # seconds between two looks at what is due
Worth = Literal["right", "unsure", "no verdict", "wrong"]
Expected = tuple[dict[str, Any], Literal["pass", "fail"]]
"""An expectation made from the truth of a recording, and the verdict that the agent deserves by it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one changed recording under one rule."""

    recording: Recording
    change: Change
    rule: str
    truth: str
    worth: Worth
    explanation: str
    healed: bool
    """A later revision said the truth."""


def expectations(truth: Mapping[str, Any]) -> dict[str, Expected]:
    """Rules made from what really happened: one that it fulfils, and some that it breaks."""
    blocks = _blocks(truth)
    names = [name for block in blocks for name in block]
    free = sorted(_made_by_frameworks(truth) - set(names))
    found: dict[str, Expected] = {"right": (_sequence(blocks, free), "pass")}
    if len(set(names)) > 1 and blocks != blocks[::-1]:
        found["wrong order"] = (_sequence(blocks[::-1], free), "fail")
    if len(names) > 1:
        found["one too many"] = (
            _sequence([*blocks[:-1], *([blocks[-1][:-1]] if blocks[-1][1:] else [])], free),
            "fail",
        )
    if names:
        found["forbidden"] = ({"forbid": [names[-1]]}, "fail")
        failed = sum(bool(call.get("error")) for call in truth["tool_calls"])
        found["failures"] = ({"max_errors": failed - 1}, "fail") if failed else ({"max_errors": 0}, "pass")
    return found


def _blocks(truth: Mapping[str, Any]) -> list[list[str]]:
    """The names of the calls in order; those that ran at once are one block."""
    group_of: dict[int, int] = {}
    for number, members in enumerate(truth.get("parallel_groups") or ()):
        for member in members:
            group_of[member if isinstance(member, int) else member["seq"]] = number
    blocks: list[list[str]] = []
    previous: int | None = None
    for index, call in enumerate(truth["tool_calls"]):
        group = group_of.get(index, -1 - index)
        if blocks and group == previous:
            blocks[-1].append(call.get("reported_name", call["name"]))
        else:
            blocks.append([call.get("reported_name", call["name"])])
        previous = group
    return blocks


def _made_by_frameworks(truth: Mapping[str, Any]) -> set[str]:
    found = {"final_answer", "finish"}
    for key in ("delegation_calls", "framework_final_calls", "handoffs"):
        found |= {call["name"] for call in truth.get(key, ()) if isinstance(call, dict) and "name" in call}
    return found


def _sequence(blocks: Iterable[Sequence[str]], free: Sequence[str]) -> dict[str, Any]:
    elements = [block[0] if len(block) == 1 else {"any_order": list(block)} for block in blocks]
    return {"sequence": elements, "allow_extra": list(free)}


def try_changes(item: Recording, changes: Sequence[Change]) -> list[Result]:
    """Score each change by each rule whose verdict on the untouched recording is the true one."""
    expected = expectations(item.truth)
    rules = _rules(expected)
    untouched = {
        (kind, scope): verdicts
        for (_, kind, scope), verdicts in _run([none(item)], item, rules, [(k, s) for k in expected for s in _SCOPES])
    }
    scopes: dict[str, str] = {}
    for kind, (_, truth) in expected.items():
        for scope in _SCOPES:
            first = [verdict for verdict in untouched[kind, scope] if _is_sure(verdict)]
            alone = len(untouched[kind, scope]) == 1 or scope == "trace"
            if alone and [_label(verdict) for verdict in first] == [truth]:
                scopes.setdefault(kind, scope)
    ran = _run(changes, item, rules, list(scopes.items()))
    return [_result(item, change, kind, expected[kind][1], verdicts) for (change, kind, _), verdicts in ran]


_SCOPES = ("run", "trace")


def _rules(expected: Mapping[str, Expected]) -> LoadedRules:
    written = [
        {"name": f"{kind}/{scope}", "scope": scope, "match": {"tenant": f"{kind}/{scope}"}, "expect": expect}
        for kind, (expect, _) in expected.items()
        for scope in _SCOPES
    ]
    return LoadedRules(load_rules({"rules": written}))


def _run(
    changes: Sequence[Change], item: Recording, rules: LoadedRules, kinds: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[Change, str, str], list[Verdict]]]:
    """Each change as a trace of its own for each rule, all at once."""
    clock = ManualClock()
    verdicts: dict[bytes, list[Verdict]] = {}

    def take(verdict: Verdict) -> None:
        verdicts.setdefault(verdict.run.trace_id, []).append(verdict)

    pipeline = Pipeline(Config.model_validate({"traces": TRACES}), rules, Telemetry(), None, clock, take)
    trials = [(change, kind, scope) for change in changes for kind, scope in kinds]
    plan = sorted(
        (
            (stage.delay, number, place)
            for number, (change, *_) in enumerate(trials)
            for place, stage in enumerate(change.stages)
        )
    )
    began = clock.seconds
    for delay, number, place in plan:
        _advance(pipeline, clock, began + delay)
        change, kind, scope = trials[number]
        stage = change.stages[place]
        for signal, body in requests(stage.spans, stage.logs, _trace_id(number), f"{kind}/{scope}"):
            pipeline.receive(signal, body, "grpc")
    _advance(pipeline, clock, clock.seconds + 15)
    for number, trial in enumerate(trials):
        name = f"{trial[1]}/{trial[2]}"
        yield trial, [verdict for verdict in verdicts.get(_trace_id(number), ()) if verdict.rule == name]


def _advance(pipeline: Pipeline, clock: ManualClock, until: float) -> None:
    while clock.seconds < until:
        clock.seconds = min(until, clock.seconds + _STEP)
        while pipeline.advance(budget=60.0) == 0.0:
            pass


def _trace_id(number: int) -> bytes:
    return (number + 1).to_bytes(16, "big")


def _label(verdict: Verdict) -> str:
    return next((one.score.label for one in verdict.evaluations if one.primary), "")


def _is_sure(verdict: Verdict) -> bool:
    return verdict.revision == 0 and verdict.complete and _label(verdict) in ("pass", "fail")


def _result(item: Recording, change: Change, kind: str, truth: str, verdicts: Sequence[Verdict]) -> Result:
    first = [verdict for verdict in verdicts if verdict.revision == 0]
    wrong = [verdict for verdict in first if _is_sure(verdict) and _label(verdict) != truth]
    healed = any(v.revision and v.complete and _label(v) == truth for v in verdicts)
    worth: Worth = "wrong" if wrong else "no verdict" if not first else "unsure"
    if not wrong and any(_is_sure(verdict) for verdict in first):
        worth = "right"
    explanation = next((one.score.explanation for verdict in [*wrong, *first] for one in verdict.evaluations), "")
    return Result(item, change, kind, truth, worth, explanation, healed)


def is_told(result: Result) -> bool:
    """Whether the rest of the trace tells of a call in a lost span: by its id, by its words, or by a span below it."""
    if not result.change.lost:
        return True
    rest = _rest(result)
    parents = {span.parent_span_id for span in rest}
    written = [span.SerializeToString() for span in rest]
    written += [row.record.SerializeToString() for row in result.recording.logs]
    return any(_is_told(result, lost, rest, parents, written) for lost in result.change.lost)


def _is_told(
    result: Result, lost: Span, rest: Sequence[Span], parents: Collection[bytes], written: Sequence[bytes]
) -> bool:
    if lost.span_id in parents:
        return True
    ids = [value for key, value in texts(lost).items() if key.endswith(_CALL_IDS) and value]
    return any(one.encode() in text for one in ids for text in written) or _is_told_in_words(result, lost, rest)


def _rest(result: Result) -> list[Span]:
    lost = {span.span_id for span in result.change.lost}
    return [row.span for row in result.recording.spans if row.span.span_id not in lost]


def _is_told_in_words(result: Result, lost: Span, rest: Iterable[Span]) -> bool:
    """Whether one attribute of another span holds the tool's name and all arguments of the lost call."""
    own = " ".join([lost.name, *texts(lost).values()])
    for call in result.recording.truth["tool_calls"]:
        values = [
            str(value) for value in (call.get("arguments") or {}).values() if isinstance(value, (str, int, float))
        ]
        words = [call.get("reported_name", call["name"]), *values]
        if values and all(word in own for word in words):
            return any(all(word in text for word in words) for span in rest for text in texts(span).values())
    return False


def why_untold(result: Result) -> str:
    """Why the rest of the trace does not tell of the lost spans."""
    models = [span for span in _rest(result) if role(span) == "model"]
    if all(role(span) == "model" for span in result.change.lost):
        return "its model's output was the only record of the call: the tool left no span"
    if not models:
        return "code called the tool, or no request to a model was recorded"
    if not any(key.startswith(_MESSAGES) for span in models for key in texts(span)):
        return "messages were not captured"
    return "no recorded message holds the call"


_MESSAGES = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion", "input.value", "output.value",
    "llm.input_messages", "llm.output_messages", "ai.prompt", "ai.response.",
)  # fmt: skip
_CALL_IDS = ("tool.call.id", "tool_call.id", "toolCall.id", "tool.call_id", "tool_call_id", "tool.id")
