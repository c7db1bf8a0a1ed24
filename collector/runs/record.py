"""A verdict as it is stored: explained, redacted, and cut to a bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from collector.model.genai_span import Told
from collector.otlp.lazy import join, span_id_of
from collector.otlp.structure import Envelope
from collector.results.redaction import Redaction
from collector.runs.explained import explained
from collector.runs.rows import Row, evaluation_row
from collector.runs.tally import DIMENSIONS, dimensions_of
from collector.scoring.verdict import Verdict
from scorers import CompiledRule, Evaluation

MAX_CALLS: Final = 1_000
"""Calls stored of a run."""
MAX_TEXT: Final = 131_072
"""Characters stored of the arguments of all calls of a run; those of calls beyond it are left out."""
MAX_SPANS: Final = 65_536
"""Bytes of raw spans stored of a run; those that do not fit are left out."""
MAX_COMPARED: Final = 200
"""Calls of a run that is compared with its rule again for the console."""
_MAX_VALUES: Final = 4_000
_MAX_INPUT: Final = 2_000
_MAX_ATTRIBUTES: Final = 50
_MAX_ATTRIBUTE: Final = 200
_MAX_COMPILED: Final = 1_000


class Submitted(NamedTuple):
    """A verdict to be stored, cut to a bounded size by `bounded`."""

    verdict: Verdict
    at: float
    """When it was given, in seconds of Unix time."""
    weight: float
    """How many verdicts it stands for."""
    cut: bool
    """Whether calls or arguments were left out."""
    spans: Sequence[tuple[Envelope, bytes]] = ()
    """Those of the run and its calls that were held, as they left."""


def bounded(verdict: Verdict) -> tuple[Verdict, bool]:
    """Returns the verdict without what is too large to be stored, and whether anything was: it may wait in memory."""
    run, room = verdict.run, _Room()
    calls = list(run.trajectory.calls[:MAX_CALLS])
    cut = len(calls) < len(run.trajectory.calls)
    for at, call in enumerate(calls):
        # Once the room is used up no later call has any, so the arguments stored are those of the first calls.
        if not (room.has_for(call.arguments) and room.has_for(call.arguments_text)):
            calls[at], cut = replace(call, arguments=None, arguments_text=None), True
    user_input = run.user_input[:_MAX_INPUT] if run.user_input else None
    attributes = {
        str(key)[:_MAX_ATTRIBUTE]: value[:_MAX_ATTRIBUTE] if isinstance(value, str) else value
        for key, value in list(run.attributes.items())[:_MAX_ATTRIBUTES]
        if isinstance(value, str | bool | int | float)
    }
    doubts = [doubt._replace(orders=()) for doubt in run.trajectory.doubts[:MAX_CALLS]]
    # What holds much and is not shown goes now, on the event loop: the rest waits in memory for the thread.
    kept = replace(
        run, user_input=user_input, attributes=attributes, contents=(), call_resources=(),
        trajectory=replace(run.trajectory, calls=calls, user_input=None, doubts=doubts),
    )  # fmt: skip
    # Without its rule where calls were cut: compared again, the part would fail for what was left out.
    found = replace(verdict, run=kept, compiled_rule=None if cut else verdict.compiled_rule)
    found.outcomes = verdict.outcomes[: len(calls)]
    return found, cut


RawSpans = Sequence[tuple[Envelope, bytes]]
"""Spans of a trace as they left, each with its resource and scope."""


def by_id(spans: RawSpans) -> Mapping[bytes, Sequence[int]]:
    """Returns where the spans of each id are."""
    found: dict[bytes, list[int]] = {}
    for at, (_, span) in enumerate(spans):
        found.setdefault(span_id_of(span), []).append(at)
    return found


def spans_of(verdict: Verdict, spans: RawSpans, places: Mapping[bytes, Sequence[int]]) -> RawSpans:
    """Returns which of these spans of its trace are those of the run and its calls, up to `MAX_SPANS` bytes."""
    own, room, found = {verdict.run.span_id, *verdict.run.call_span_ids}, MAX_SPANS, list[tuple[Envelope, bytes]]()
    # By their ids and in their order: a trace may have a thousand runs, and none of them looks at the spans of all.
    for at in sorted(place for one in own if one is not None for place in places.get(one, ())):
        # Those that are too large are left out, and smaller ones behind them are not.
        if len(spans[at][1]) <= room:
            found.append(spans[at])
            room -= len(spans[at][1])
    return found


class _Room:
    """Counts down what a run may have of values and characters. Looks at no more of a value than there is room for."""

    def __init__(self) -> None:
        self._values, self._text = _MAX_VALUES, MAX_TEXT

    def has_for(self, value: Any) -> bool:
        stack = [value]
        while stack:
            self._values -= 1
            one = stack.pop()
            if isinstance(one, str):
                self._text -= len(one)
            elif isinstance(one, Mapping):
                self._values -= len(one)
                stack += one.values() if self._values > 0 else ()
                self._text -= sum(len(str(key)) for key in one) if self._values > 0 else 0
            elif isinstance(one, Sequence):
                self._values -= len(one)
                stack += one if self._values > 0 else ()
            if self._values < 0 or self._text < 0:
                return False
        return True


class Recorder:
    """Makes the stored form of verdicts, on the store's own thread: its compiled rules share nothing with the scoring."""

    def __init__(self, redaction: Redaction, dimensions: Sequence[str] = DIMENSIONS) -> None:
        self._redaction, self._dimensions = redaction, dimensions
        self._compiled: dict[tuple[str, str], CompiledRule | None] = {}

    def row(self, submitted: Submitted, rules: Sequence[CompiledRule]) -> Row:
        """Returns a verdict explained, as it may be shown. ``rules`` are those in force."""
        verdict = submitted.verdict
        hidden = verdict.run.hidden
        row = explained(
            replace(verdict, compiled_rule=self._own_rule(verdict)), rules, values=self._redaction.may_quote(hidden)
        )
        # Set again, since a run that is not compared was explained without its rule.
        row["pass_at"] = None if verdict.compiled_rule is None else verdict.compiled_rule.rule.pass_
        row["at"], row["weight"], row["cut"] = round(submitted.at, 3), round(submitted.weight, 3), submitted.cut
        row["spans"] = join([(envelope, [span]) for envelope, span in submitted.spans])
        row["dimensions"] = dimensions_of(verdict.run.attributes, self._dimensions)
        row["attributes"] = {
            key: value for key, value in verdict.run.attributes.items() if not self._redaction.hides(key)
        }
        return self._redacted(row, hidden) if self._redaction.active else row

    def judgement(self, evaluation: Evaluation) -> Row:
        """Returns what a judge said, as it may be shown."""
        row = {**evaluation_row(evaluation), "is_judged": True}
        return self._text_of(row) if self._redaction.active else row

    def _redacted(self, row: Row, hidden: frozenset[Told]) -> Row:
        row["user_input"] = None if "input" in hidden else row["user_input"]
        row.pop("intent_reason", None)  # it quotes the user
        for call in row["tool_calls"]:
            if "arguments" in hidden:
                call["arguments"] = None
                call.pop("arguments_text", None)
        # A pattern such as that for card numbers may match an id by chance, and links would lead nowhere.
        # The spans left redacted already.
        ids = {key: row[key] for key in ("trace_id", "span_id", "parent_span_id", "digest", "label", "scope", "spans")}
        redacted: Row = self._text_of(row)
        return {**redacted, **ids}

    def _text_of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redaction.text(value)
        if isinstance(value, Mapping):
            return {self._redaction.text(str(key)): self._text_of(inner) for key, inner in value.items()}
        return [self._text_of(inner) for inner in value] if isinstance(value, list | tuple) else value

    def _own_rule(self, verdict: Verdict) -> CompiledRule | None:
        rule = verdict.compiled_rule
        # A rule with semantic matchers needs embeddings, which this thread does not have.
        if rule is None or len(verdict.run.trajectory.calls) > MAX_COMPARED or rule.semantic_texts:
            return None
        # By digest, so that a reloaded rule is compiled again. Rules that are gone are dropped with all others.
        key = (rule.rule.name, rule.digest)
        if key not in self._compiled:
            if len(self._compiled) >= _MAX_COMPILED:
                self._compiled.clear()
            self._compiled[key] = CompiledRule(rule.rule)
        return self._compiled[key]
