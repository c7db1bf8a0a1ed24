"""Runs of a conversation between their own verdict and the conversation's: serialised, in memory and in the spool alike.

A run collected before a restart is therefore scored from the same bytes as one collected after it, and the size of all of
them is known exactly. Nothing in a sender's data makes writing fail: what JSON cannot express is left out or named.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, get_args

from collector.assembly.conversations import Conversation, ConversationKey, ConversationRun
from collector.assembly.trace import Trace
from collector.model.genai_span import Content, Told
from collector.model.semconv import SERVICE_NAMESPACE
from collector.reconstruction.judged_run import final_response
from collector.reconstruction.run import Run
from collector.scoring.select_and_score import (
    Scored,
    arguments_to_embed,
    tenant_of,
    verdicts_of_conversation,
    words_to_embed,
)
from collector.scoring.verdict import Verdict
from scorers import Doubt, FoundIntent, RuleSet, ToolCall, Trajectory
from scorers.doubts import MORE_CALLS, is_open
from scorers.rules.selection import attribute_key
from scorers.trajectory import DoubtName, Order

_PLAIN: Final = (
    "agent", "conversation_id", "route", "intent", "user_input", "response_id", "service", "dialect", "attributes",
    "start_ns",
)  # fmt: skip
_OF_CALL: Final = tuple(field.name for field in fields(ToolCall))
_ALL: Final[tuple[Told, ...]] = get_args(Told)
_DAMAGED = "a run of a conversation is damaged"


def collect(trace: Trace, runs: Sequence[Run], scored: Scored, reading: str) -> Iterator[ConversationRun]:
    """Yield the runs of a trace that belong to a conversation and were just scored, or belong to another than before.

    ``reading`` tells what was read of them, as `RuleSet.reading` does.
    """
    keys = conversations_of(runs)
    if not keys:
        return
    new = {verdict.run.span_id: verdict.run for verdict in scored.verdicts if verdict.scope == "run"}
    for known in runs:
        if (key := keys.get(known.span_id)) is None:
            continue
        parts = [part for part in scored.parts.get(known.span_id, ()) if trace.verdicts[part].conversation]
        if known.span_id not in new and not parts and trace.verdicts[known.span_id].conversation == hash(key):
            continue
        run = new.get(known.span_id, known)
        envelope = trace.envelope_of(run.span_id)
        resource = b"" if envelope is None else envelope.resource
        complete = not is_open(run.trajectory.doubts) or _is_a_part(run)
        record = write(key, run, resource, complete=complete, reading=reading)
        yield ConversationRun(
            key, run.trace_id + run.span_id, len(run.trajectory.calls), complete, record, run.start_ns,
            tuple([run.trace_id + part for part in parts]),
        )  # fmt: skip


def _is_a_part(run: Run) -> bool:
    """Whether nothing but further traces, which the conversation has, could hold further calls of the run."""
    return {doubt.name for doubt in run.trajectory.doubts} & MORE_CALLS == {"other_traces"}


def conversations_of(runs: Sequence[Run]) -> Mapping[bytes, ConversationKey]:
    """Returns the conversation of each run by anchor; runs that belong to none are left out.

    All runs of a trace that names one conversation are in it. Where it names several, a run is in that of its outermost
    run. A conversation belongs to its tenant, and to its ``service.namespace`` or else its service: frameworks and users
    choose ids freely, and conversations of different owners must not be mixed.
    """
    named = {run.conversation_id for run in runs if run.conversation_id}
    if not named:
        return {}
    if len(named) == 1:
        outermost = min((run for run in runs if run.parent_span_id is None), key=_start, default=runs[0])
        key = _key(outermost, named.pop())
        return {run.span_id: key for run in runs} if key else {}
    by_anchor = {run.span_id: run for run in runs}
    found: dict[bytes, ConversationKey] = {}
    outermost_of: dict[bytes, Run] = {}
    for run in runs:
        outer = _outermost(run, by_anchor, outermost_of)
        if key := _key(outer, outer.conversation_id or run.conversation_id):
            found[run.span_id] = key
    return found


def _key(run: Run, conversation_id: str | None) -> ConversationKey | None:
    if conversation_id is None:
        return None
    namespace = run.attributes.get(SERVICE_NAMESPACE)
    return ConversationKey(tenant_of(run), str(namespace) if namespace else run.service, conversation_id)


def _outermost(run: Run, by_anchor: Mapping[bytes, Run], known: dict[bytes, Run]) -> Run:
    """Returns the outermost run around this one, and adds it to ``known`` for all on the way there, by anchor."""
    first, passed = run, set[bytes]()
    # What is found is kept for every run on the way: agents nested in one another are walked once, not once a level.
    while run.span_id not in known and run.span_id not in passed:
        passed.add(run.span_id)
        run = by_anchor.get(run.parent_span_id or b"", run)
    # Where parents form a ring none is outermost, and each run stands for itself.
    is_ring = run.span_id in passed and run.parent_span_id in by_anchor
    known.update((anchor, by_anchor[anchor] if is_ring else known.get(run.span_id, run)) for anchor in passed)
    return known[first.span_id]


def _start(run: Run) -> tuple[int, bytes]:
    return run.start_ns, run.span_id


def write(key: ConversationKey, run: Run, resource: bytes, *, complete: bool, reading: str) -> bytes:
    """Serialise a run of a conversation for ``read``; ``resource`` is that of its anchor, serialised."""
    found = run.found_intent
    calls = [[getattr(call, name) for name in _OF_CALL] for call in run.trajectory.calls]
    written = {
        "key": key,
        "ids": [run.trace_id.hex(), run.span_id.hex(), _hex(run.parent_span_id), _hex(run.started_by)],
        **{name: getattr(run, name) for name in _PLAIN},
        "last_words": final_response(run) if run.contents else None,
        "hidden": sorted(run.hidden),
        "found_intent": None if found is None else [found.name, found.by, found.reason],
        "doubts": [list(doubt) for doubt in run.trajectory.doubts],
        "resource": b64encode(resource).decode(),
        "complete": complete,
        "reading": reading,
        "unread": sorted(run.unread),
    }
    return _text(
        {**written, "calls": calls}, {**written, "attributes": {}, "calls": [_without_values(c) for c in calls]}
    )


def _text(written: Mapping[str, Any], barest: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(written, default=str, skipkeys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):  # a number of more digits than Python prints, or nested too deeply
        return json.dumps(barest, default=str, skipkeys=True, separators=(",", ":")).encode()


def _without_values(call: Sequence[Any]) -> list[Any]:
    return [
        None if name in ("arguments", "arguments_text") else value for name, value in zip(_OF_CALL, call, strict=True)
    ]


def restore(record: bytes) -> ConversationRun:
    """Returns what ``collect`` yielded, from its record. Raises ValueError if it is damaged."""
    written = _parse(record)
    run = _run(written)
    complete, key = written["complete"] is True, ConversationKey(*written["key"])
    return ConversationRun(key, run.trace_id + run.span_id, len(run.trajectory.calls), complete, record, run.start_ns)


def cut(run: ConversationRun, calls: int) -> ConversationRun:
    """Returns a run with the first of its calls alone, and what is in doubt about them. Raises ValueError if damaged."""
    written = _parse(run.record)
    doubts = [_cut_doubt(_doubt(*doubt), calls) for doubt in written["doubts"]]
    left = [list(doubt) for doubt in doubts if doubt is not None]
    record = json.dumps({**written, "calls": written["calls"][:calls], "doubts": left}, separators=(",", ":")).encode()
    return replace(run, calls=calls, record=record)


def _cut_doubt(doubt: Doubt, calls: int) -> Doubt | None:
    """Returns what a doubt says of the first calls; None if it is about others alone."""
    left = tuple(at for at in doubt.calls if at < calls)
    if doubt.calls and not left:
        return None
    orders = {
        tuple(step for step in (tuple(at for at in step if at < calls) for step in order) if step)
        for order in doubt.orders
    }
    return doubt._replace(calls=left, orders=tuple(sorted(orders)))


def score(conversation: Conversation, rules: RuleSet, release: str, skew_ns: int) -> tuple[list[Verdict], bytes]:
    """Returns the verdicts of a conversation and the resource of the run it is anchored at. Raises ValueError as ``read``."""
    runs, resource = read(conversation, rules)
    verdicts = verdicts_of_conversation(
        runs, rules, release, skew_ns, complete=conversation.complete(release), revision=conversation.revision,
        known=conversation.known_forbidden,
    )  # fmt: skip
    return verdicts, resource


def texts_to_embed(conversation: Conversation, rules: RuleSet) -> Iterator[str]:
    """Yield the texts that must be embedded to score a conversation. Raises ValueError as ``read``."""
    runs, _ = read(conversation, rules)
    yield from words_to_embed(runs, rules)
    yield from arguments_to_embed(runs, rules, ("conversation",))


def read(conversation: Conversation, rules: RuleSet) -> tuple[list[Run], bytes]:
    """Returns the runs of a conversation in order of start, and the resource of the first, to be scored by these rules.

    Raises ValueError if damaged.
    """
    read_runs = [(_run(written), written) for run in conversation.runs.values() for written in (_parse(run.record),)]
    read_runs.sort(key=lambda item: _start(item[0]))
    for run, written in read_runs:
        # An earlier version noted nothing.
        if (written.get("reading") or rules.reading) != rules.reading:
            _forget_reading(run, rules)
    return [run for run, _ in read_runs], b64decode(read_runs[0][1]["resource"])


def _forget_reading(run: Run, rules: RuleSet) -> None:
    """Have the rules in force find the intent of a run that was collected under others, and note what was not read of it."""
    if run.found_intent is not None:
        run.intent = run.found_intent = None
    unread = set(map(attribute_key, rules.attributes.difference(run.attributes)))
    if rules.reads_intents and run.intent is None and run.user_input is None:
        unread.add("intent")
    run.unread = run.unread | unread


def _parse(record: bytes) -> Mapping[str, Any]:
    try:
        written = json.loads(record)
    except RecursionError:
        raise ValueError(_DAMAGED) from None
    if (
        type(written) is not dict
        or not written.keys() >= {"key", "complete"}
        or type(written.get("resource")) is not str
    ):
        raise ValueError(_DAMAGED)
    return written


def _run(written: Mapping[str, Any]) -> Run:
    try:
        trace_id, span_id, parent, started_by = written["ids"]
        calls = [ToolCall(*call) for call in written["calls"]]
        plain = {name: written[name] for name in _PLAIN}
        # The key's, not the run's own: a run that names no conversation is in the one that its trace names.
        plain["conversation_id"] = ConversationKey(*written["key"]).conversation_id
        found, words = written["found_intent"], written.get("last_words")
        return Run(
            trace_id=bytes.fromhex(trace_id),
            span_id=bytes.fromhex(span_id),
            parent_span_id=_bytes(parent),
            started_by=_bytes(started_by),
            trajectory=Trajectory(calls, plain["user_input"], [_doubt(*doubt) for doubt in written["doubts"]]),
            call_span_ids=tuple([_bytes(call.span_id) for call in calls]),
            found_intent=None if found is None else FoundIntent(*found),
            contents=() if words is None else (Content({"text": words}),),
            hidden=frozenset(written.get("hidden", _ALL)),  # an earlier version noted nothing
            unread=frozenset(written.get("unread", ())),
            **plain,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(_DAMAGED) from error


def _doubt(name: DoubtName, calls: Sequence[int], sentence: str, orders: Sequence[Order]) -> Doubt:
    as_tuples = tuple([tuple([tuple(together) for together in order]) for order in orders])
    return Doubt(name, tuple(calls), sentence, as_tuples)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)
