"""One trace from receipt to export, top to bottom.

    receive ─▶ split ─▶ read ─▶ assemble ─▶ reconstruct ─▶ score ─▶ annotate ─▶ queue
                 │        │         └── until the trace is due: advance()    └─▶ gather, for rules about conversations
                 └────────┴── spans that will not be annotated: to the queue at once, bytes untouched

No I/O and no waiting here: receivers call ``receive``, the service calls ``advance``, an exporter empties the queue.
With a spool, what one call takes in and gives out is recorded in one piece, and ``recover`` brings back what was open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

from collector import dialects
from collector.assembly.assembler import Assembler, Disposition, Due
from collector.assembly.conversations import Conversation, Conversations
from collector.assembly.trace import Trace
from collector.clock import Clock
from collector.component import ExportRequest, Rejected, Signal
from collector.config.model import Config
from collector.delivery.hold import HeldExport, HoldQueue
from collector.delivery.sending_queue import SendingQueue
from collector.errors import CollectorError, DecodeError
from collector.judging import recorded_content as content
from collector.judging.queue import JudgeQueue
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.otlp import lazy
from collector.otlp.decode import Decoder
from collector.reconstruction.reconstruct import ContextSettings, Run, reconstruct
from collector.results.redaction import Redaction
from collector.results.results import Results, resource_of
from collector.results.span_attributes import judged_attributes
from collector.results.verdict_counter import VerdictCounter
from collector.scoring.conversations import gather, judge, texts_to_embed
from collector.scoring.rule_files import LoadedRules
from collector.scoring.select_and_score import TENANT_ATTRIBUTES, arguments_to_embed, verdicts_of, words_to_embed
from collector.scoring.verdict import Verdict
from collector.storage.journal import Journal, Kept
from collector.storage.recovery import bring_back
from collector.storage.spool import Spool
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)
_RECEIVER = "otlp"
_LOG_MARKER = b"gen_ai."
_INTEREST = lazy.SpanFilter(dialects.MARKERS, dialects.SCOPES)
_TRACE_ID_SIZE, _SPAN_ID_SIZE = 16, 8  # spans with other ids pass through; nothing can be joined by them


@dataclass(slots=True)
class _Taken:
    """What became of one trace request: the spans that leave now, and how many were held or dropped instead."""

    forward: list[tuple[lazy.Envelope, list[bytes]]] = field(default_factory=list)
    forwarded: int = 0
    kept_back: int = 0
    undecodable: int = 0
    kept: Kept = field(default_factory=list)


class Pipeline:
    """Takes requests in, gives requests out; ``queue`` is None where nothing is exported but metrics.

    ``on_verdict`` sees every verdict after it was exported, but for those of judges. ``user_input`` asks for the user's
    words even where no intent has to be found in them.
    """

    def __init__(
        self,
        config: Config,
        rules: LoadedRules,
        telemetry: Telemetry,
        queue: SendingQueue | None,
        clock: Clock,
        on_verdict: Callable[[Verdict], None] | None = None,
        user_input: bool = False,
        spool: Spool | None = None,
    ) -> None:
        self._telemetry, self._queue, self._clock, self._on_verdict = telemetry, queue, clock, on_verdict
        self._context, self._user_input = config.context, user_input
        self._assembler = Assembler(config.traces)
        self._conversations = conversations = Conversations(config.conversations, journaled=spool is not None)
        lifetime = config.traces.idle_timeout
        self._journal = Journal(spool, self._assembler, conversations, lifetime) if spool is not None else None
        self._redaction = Redaction(config.redact)
        self._results = Results(self._redaction, clock.wall_ns)
        self._departures = HoldQueue(queue, self._journal, self._redaction, config)
        self._judge_queue: JudgeQueue | None = None
        self._counter = VerdictCounter(telemetry)
        telemetry.traces_open.set_function(lambda: len(self._assembler))
        telemetry.conversations_open.set_function(lambda: len(conversations))
        self._ahead: Callable[[Iterable[str]], float] | None = None
        self.use(rules)

    def embed_ahead(self, ahead: Callable[[Iterable[str]], float]) -> None:
        """Let ``ahead`` embed texts before traces are scored; it says in how many seconds they will be, 0 for now."""
        self._ahead = ahead

    def use(self, rules: LoadedRules) -> None:
        """Score by these rules from now on, open traces too."""
        route, intent = tuple(self._context.route), tuple(self._context.intent)
        self._rules, self._gathers = rules.set, rules.set.has_scope("conversation")
        asks = rules.set.has_judges()
        heard = self._user_input or asks or bool(rules.set.intents)
        self._settings = ContextSettings(route, intent, user_input=heard, content=asks)
        wanted = dialects.ATTRIBUTES.union(route, intent, TENANT_ATTRIBUTES, rules.attributes)
        prefixes = dialects.ATTRIBUTE_PREFIXES
        self._read, self._read_log = dialects.read_span, dialects.read_log
        if asks:  # costly, and of no use to anybody else
            self._read, self._read_log = content.read_span, content.read_log
            wanted, prefixes = wanted | content.ATTRIBUTES, (*prefixes, *content.PREFIXES)
        self._decoder = Decoder(wanted, prefixes, dialects.SCOPES)

    def judge_at(self, judge_queue: JudgeQueue) -> None:
        """Submit runs there whose rules ask a model; nothing waits for the judgements except for ``judge.hold``."""
        self._judge_queue = judge_queue

    # ---- in: called by receivers

    def receive(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Take one OTLP protobuf request, whether there is room or not. Raises DecodeError."""
        if signal == "traces":
            return self._receive_traces(request, transport)
        if signal == "logs":
            self._read_logs(request)
            request = self._redaction.logs(request) if self._redaction.pass_through else request
        else:
            lazy.check(request)
        self._departures.send(ExportRequest(signal, request, 0))
        return Rejected()

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Count a request that was not taken."""
        metric = self._telemetry.receiver_refused_spans
        self._telemetry.child(metric, _RECEIVER, transport, error.reason).inc()

    def _receive_traces(self, request: bytes, transport: str) -> Rejected:
        now = self._clock.now()
        split = lazy.split(request, _INTEREST)
        self._assembler.link(split.links, now)
        taken = _Taken()
        for scope in split.scopes:
            self._take(scope, taken, now)
        if split.span_count and taken.undecodable == split.span_count:
            raise DecodeError("no span of the request could be read")
        if taken.kept_back == 0 and not self._redaction.pass_through:
            self._departures.send(ExportRequest("traces", request, split.span_count))
        elif taken.forwarded:
            self._departures.send(ExportRequest("traces", lazy.join(taken.forward), taken.forwarded))
        accepted = self._telemetry.child(self._telemetry.receiver_accepted_spans, _RECEIVER, transport)
        accepted.inc(split.span_count - taken.undecodable)
        if self._journal is not None:
            self._journal.request(split.links, taken.kept, now)
        while (trace := self._assembler.over_limit()) is not None:
            self._release(trace, "evicted")
        self._flush(now)
        return Rejected(taken.undecodable, "spans that are not OTLP") if taken.undecodable else Rejected()

    def _take(self, scope: lazy.ScopeSpans, taken: _Taken, now: float) -> None:
        """Read the spans of one scope that may be about agents; hold some, forward the rest."""
        keep: set[int] = set()
        genai_spans: list[tuple[int, bytes, GenAISpan]] = []
        spans = (
            self._decoder.spans([scope.spans[index] for index in scope.wanted], scope.envelope) if scope.wanted else ()
        )
        for index, span in zip(scope.wanted, spans, strict=True):
            if span is None:
                keep.add(index)
                taken.undecodable += 1
                continue
            genai_span = self._read(span)
            if genai_span is None:
                scope_name = self._telemetry.label("scope", span.scope.name)
                self._telemetry.child(self._telemetry.unread_spans, scope_name).inc()
            elif (
                genai_span is not IGNORED
                and len(span.trace_id) == _TRACE_ID_SIZE
                and len(span.span_id) == _SPAN_ID_SIZE
            ):
                genai_spans.append((index, span.trace_id, genai_span))
        genai_spans.sort(key=_context_last)
        kept: dict[bytes, list[bytes]] = {}
        for index, trace_id, genai_span in genai_spans:
            raw = scope.spans[index]
            disposition = self._assembler.add(trace_id, genai_span.span_id, genai_span, raw, scope.envelope, now)
            if self._journal is not None and disposition is not Disposition.DUPLICATE:
                kept.setdefault(trace_id, []).append(raw)
            if disposition in (Disposition.HELD, Disposition.DUPLICATE):
                keep.add(index)
            if disposition is Disposition.LATE:
                self._telemetry.late_spans.inc()
            elif disposition is Disposition.DUPLICATE:
                self._telemetry.child(self._telemetry.dropped_spans, "assembly", "duplicate").inc()
        passing = [raw for index, raw in enumerate(scope.spans) if index not in keep] if keep else scope.spans
        if self._redaction.pass_through:
            passing = [self._redaction.span(raw) for raw in passing]
        taken.forward.append((scope.envelope, passing))
        taken.forwarded += len(passing)
        taken.kept_back += len(keep)
        if kept:
            taken.kept.append((scope.envelope, kept))

    def _read_logs(self, request: bytes) -> None:
        """Old conventions put tool calls in log events. Log records pass through whatever they say."""
        now = self._clock.now()
        marked = _LOG_MARKER in request
        for envelope, records in lazy.iter_scopes(request):
            for raw in records if marked else ():
                if _LOG_MARKER not in raw:
                    continue
                trace_id = self._add_log(envelope, raw, now)
                if trace_id and self._journal is not None:
                    self._journal.log(trace_id, envelope, raw)

    def _add_log(self, envelope: lazy.Envelope, raw: bytes, now: float) -> bytes:
        """Give one log record to its trace; says the trace's id, b"" where the record is not of interest."""
        record = self._decoder.log_record(raw, envelope)
        genai_span = self._read_log(record) if len(record.trace_id) == _TRACE_ID_SIZE else None
        if genai_span is None:
            return b""
        key = int.from_bytes(blake2b(raw, digest_size=8).digest())  # the same after a restart, which hash() is not
        self._assembler.add(record.trace_id, key, genai_span, None, envelope, now)
        return record.trace_id

    # ---- over time: called by the service

    def advance(self, budget: float = 0.002) -> float:
        """Release traces that are due, for about ``budget`` seconds; says in how many seconds there is more to do.

        The budget keeps the pause short that other spans see while verdicts are made.
        """
        now = self._clock.now()
        for trace, due in self._assembler.due(now):
            self._look_at(trace, due)
            if self._clock.now() - now > budget:
                self._flush(now)
                return 0.0
        for conversation, reason in self._conversations.due(now):
            self._look_at_conversation(conversation, reason)
            if self._clock.now() - now > budget:
                self._flush(now)
                return 0.0
        self._departures.advance(now)
        self._flush(now)
        if self._journal is not None:
            self._journal.sweep(now)
        waiting = (self._assembler, self._conversations, self._departures)
        deadlines = [part.next_deadline() for part in waiting]
        return max(0.0, min((deadline for deadline in deadlines if deadline is not None), default=now + 1.0) - now)

    def evict(self, count: int = 100) -> None:
        """Release the oldest traces and conversations, as they are, because memory is short."""
        for trace in self._assembler.open_traces()[:count]:
            self._release(trace, "evicted")
        for conversation in self._conversations.open()[:count]:
            self._conclude(conversation, "evicted")
        self.flush()

    def drain(self, release: str) -> None:
        """Release every open trace and conversation, as it is, for ``release`` ("shutdown" or "end_of_input")."""
        for trace in self._assembler.open_traces():
            self._release(trace, release)
        for conversation in self._conversations.open():
            self._conclude(conversation, release)
        self._flush(float("inf"))

    def flush(self) -> None:
        """Send what verdicts were written on, without waiting for more, nor for a judge."""
        self._departures.advance(float("inf"))
        self._flush(float("inf"))

    # ---- after a restart: called by the service before anything else

    def recover(self) -> int:
        """Bring back the traces that were open, as far as the spool can be read; says how many."""
        if self._journal is None:
            return 0
        now = self._clock.now()
        parts = self._journal, self._assembler, self._conversations
        unreadable = bring_back(*parts, self._decoder, self._read, self._add_log, now)
        if unreadable:
            _log.error("%d records of the spool cannot be read; they are left out", unreadable)
            self._telemetry.child(self._telemetry.dropped_spans, "spool", "unreadable").inc(unreadable)
        return len(self._assembler)

    # ---- one trace

    def _look_at(self, trace: Trace, due: Due) -> None:
        runs = self._reconstruct(trace)
        if due is Due.SETTLED and any(run.incomplete for run in runs):
            self._assembler.wait(trace)
        elif self._rules.embeds and (wait := self._wait_for_texts(runs)):
            self._assembler.postpone(trace, self._clock.now() + wait)
        else:
            self._finish(trace, runs, due.value)

    def _look_at_conversation(self, conversation: Conversation, release: str) -> None:
        if self._rules.embeds and (wait := self._wait_for(texts_to_embed(conversation, self._rules))):
            self._conversations.postpone(conversation, self._clock.now() + wait)
        else:
            self._conclude(conversation, release)

    def _wait_for_texts(self, runs: list[Run]) -> float:
        """Words first: which rule looks at which arguments may depend on the intent they show."""
        words = self._wait_for(words_to_embed(runs, self._rules))
        return words or self._wait_for(arguments_to_embed(runs, self._rules, ("run", "trace")))

    def _wait_for(self, texts: Iterable[str]) -> float:
        """In how many seconds these texts should be embedded; 0 where nobody embeds ahead, or all of them are."""
        try:
            return self._ahead(texts) if self._ahead is not None else 0.0
        except Exception:  # noqa: BLE001 - scoring meets it again, and reports it
            return 0.0

    def _release(self, trace: Trace, release: str) -> None:
        self._finish(trace, self._reconstruct(trace), release)

    # ---- from a trace to its verdicts

    def _reconstruct(self, trace: Trace) -> list[Run]:
        try:
            return reconstruct(trace.trace_id, list(trace.spans.values()), trace.parents(), self._settings)
        except Exception:  # noqa: BLE001 - whatever a stranger sent, other traces go on, and this one is still delivered
            self._report_bug("trace %s could not be reconstructed", trace.trace_id.hex())
            return []

    def _finish(self, trace: Trace, runs: list[Run], release: str) -> None:
        """Score the runs, annotate and send the held spans, send the events, count."""
        now = self._clock.now()
        try:
            verdicts = verdicts_of(trace, runs, self._rules, release)
            spans, events = self._results.of_trace(trace, verdicts)
            gathered = list(gather(trace, runs, verdicts)) if self._gathers else []
        except Exception:  # noqa: BLE001 - a bug in a scorer, or a trace nobody thought of, must not end the process
            self._report_bug("trace %s could not be scored; its spans leave as they came", trace.trace_id.hex())
            verdicts, events, gathered = [], [], []
            spans = [(envelope, self._redaction.span(raw)) for _, raw, envelope in trace.held_spans()]
        departure = HeldExport(trace.trace_id, spans, events)
        self._submit_for_judging(verdicts, departure, partial(resource_of, trace))
        departure.span_ids = [span_id for span_id, _, _ in trace.held_spans()] if departure.judgements else ()
        self._assembler.close(trace)
        departure.closed = self._journal.close(trace) if self._journal is not None else None
        self._departures.add(departure, now)
        self._count(verdicts)
        for run in gathered:
            self._conversations.add(run, now)
        while (conversation := self._conversations.over_limit()) is not None:
            self._conclude(conversation, "evicted")

    def _conclude(self, conversation: Conversation, release: str) -> None:
        """Score a conversation, send the events, count. Its spans have left with the verdicts of its runs."""
        try:
            verdicts, resource = judge(conversation, self._rules, release)
            events = self._results.events(verdicts, resource)
            self._submit_for_judging(verdicts, HeldExport(b"", [], []), lambda _: resource)
        except Exception:  # noqa: BLE001 - as for a trace
            self._report_bug("conversation %s could not be scored", conversation.key.conversation_id)
            verdicts, events = [], []
        if conversation.revision == 0:
            self._telemetry.child(self._telemetry.conversations, release).inc()
        self._conversations.close(conversation, release)
        self._departures.add_events(events, self._clock.now())
        self._count(verdicts)

    def _count(self, verdicts: list[Verdict]) -> None:
        for verdict in verdicts:
            self._counter.count(verdict)
            if self._on_verdict is not None:
                self._on_verdict(verdict)

    def _submit_for_judging(
        self, verdicts: list[Verdict], export: HeldExport, resource: Callable[[Verdict], bytes]
    ) -> None:
        """Submit the runs whose rules ask a model; ``resource`` returns what the events of a verdict go under."""
        for verdict in verdicts:
            if verdict.judges and self._judge_queue is not None:
                awaited = not verdict.shadow  # nothing is written on spans for shadow rules, so none waits for them
                deliver = partial(self._deliver_judgement, export, resource(verdict), awaited)
                submitted = self._judge_queue.submit(verdict, deliver)
                export.judgements += submitted if awaited else 0

    def _deliver_judgement(self, export: HeldExport, resource: bytes, awaited: bool, judgement: Verdict | None) -> None:
        """Count and send one judgement; None where there will be none."""
        events = self._results.events([judgement], resource) if judgement is not None else []
        attributes = judged_attributes(judgement) if judgement is not None else {}
        if judgement is not None:
            self._counter.count(judgement)
        self._departures.judged(export, events, attributes, self._clock.now(), awaited=awaited)

    def _report_bug(self, message: str, which: str) -> None:
        _log.exception(message, which)
        self._telemetry.child(self._telemetry.runs_unscored, "internal").inc()

    # ---- out

    def _flush(self, now: float) -> None:
        self._counter.flush()
        self._departures.flush(now)


def _context_last(item: tuple[int, bytes, GenAISpan]) -> bool:
    """Roots after what they enclose, so that a root knows whether its trace is about agents at all."""
    return item[2].role == Role.OTHER
