"""One trace from receipt to export, top to bottom.

    receive ─▶ split ─▶ decode ─▶ assemble ─▶ reconstruct ─▶ score ─▶ annotate ─▶ hold queue ─▶ sending queue
                 │        │           └── until the trace is due: advance()   └─▶ conversations
                 └────────┴── spans that will not be annotated: to the sending queue at once, bytes unchanged

No I/O and no waiting here: receivers call ``receive``, the service calls ``advance``, an exporter empties the sending queue.
With a spool, what one step accepts and produces is recorded in one transaction, and ``recover`` restores what was open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, count
from typing import Final

from collector.assembly.assembler import Assembler, Occupied
from collector.assembly.conversations import ConversationRun, Conversations
from collector.assembly.due import Due
from collector.clock import Clock, PausableTime
from collector.component import ExportRequest, Rejected, Signal
from collector.config.memory import memory_budget
from collector.config.model import Config
from collector.conversation_pipeline import ConversationPipeline
from collector.delivery.hold import HoldQueue
from collector.delivery.sending_queue import Outgoing
from collector.errors import CollectorError
from collector.handover import hand_over
from collector.judging.queue import JudgeQueue
from collector.otlp.structure import Structure
from collector.reader import reader_for
from collector.reconstruction.context import ContextSettings
from collector.request_pipeline import RequestPipeline, Steps
from collector.results.redaction import Redaction
from collector.results.results import Results
from collector.resumption import forward_unscored, resume
from collector.scoring.rule_files import LoadedRules
from collector.scoring.select_and_score import RunningBelow, Scoring, nothing_runs
from collector.scoring.verdict import Verdict
from collector.storage.journal import Journal
from collector.storage.offsets import Offsets, Origin, Partition
from collector.storage.recovery import Recovery
from collector.storage.spool import Spool
from collector.storage.unreceived import unreceived
from collector.telemetry.metrics import Telemetry
from collector.trace_evaluation import Rules, TraceEvaluator
from collector.trace_pipeline import TracePipeline
from collector.verdict_output import Archive, VerdictOutput

_log = logging.getLogger(__name__)
_WHILE_FULL: Final = 0.05  # seconds after which it is looked whether the sending queue has room again
_TIME_TO_EVICT: Final = 0.01  # seconds, after which the other traces are left to the next time


class Pipeline:
    """Takes requests in and puts requests into ``queue``, which is None where nothing is exported but metrics.

    ``on_verdict`` receives every verdict but those of judges. ``user_input`` reads the user's words even where no intent
    has to be found in them. ``embed_ahead`` is asked to embed texts before they are needed, and returns in how many seconds
    they will be, 0 for now. ``running`` tells of spans that are known to go on.
    """

    def __init__(  # noqa: PLR0913 - everything it is connected to, in one phase
        self,
        config: Config,
        rules: LoadedRules,
        telemetry: Telemetry,
        queue: Outgoing | None,
        clock: Clock,
        on_verdict: Callable[[Verdict], None] | None = None,
        *,
        user_input: bool = False,
        spool: Spool | None = None,
        judge_queue: JudgeQueue | None = None,
        embed_ahead: Callable[[Iterable[str]], float] | None = None,
        archive: Archive | None = None,
        running: RunningBelow = nothing_runs,
    ) -> None:
        self.topic_stalled: Callable[[], bool] = lambda: False
        """Whether spans may wait in a topic that nobody can read now."""
        self._time = PausableTime(clock.now)
        self._topic_time = PausableTime(self._time.now)
        clock = Clock(self._time.now, clock.wall_ns, clock.sleep, clock.random, clock.since_boot)
        self._telemetry, self._queue, self._clock, self._embed_ahead = telemetry, queue, clock, embed_ahead
        self._context, self._user_input = config.context, user_input
        self._running, self._dimensions = running, tuple(config.exporters.prometheus.dimensions)
        self._judge_queue, self._budget = judge_queue, memory_budget(config)
        self._assembler = assembler = Assembler(config.traces, self._budget)
        self._journal = Journal(spool, assembler.is_open, config.traces.idle_timeout) if spool is not None else None
        self.refused, self.gaps = unreceived(spool, clock, config.traces.max_duration)
        # With a Kafka receiver there is no spool, since the topic holds what is not finished: at most one of the two is set.
        self.offsets = _offsets_of(assembler, self._topic_time) if config.receivers.kafka is not None else None
        self._build(config, rules, clock, on_verdict, archive)
        telemetry.traces_open.set_function(lambda: len(assembler))
        telemetry.held_spans.set_function(lambda: self._hold_queue.held_spans)
        self._versions = count()  # of the rules
        self.set_rules(rules)

    def _build(
        self,
        config: Config,
        rules: LoadedRules,
        clock: Clock,
        on_verdict: Callable[[Verdict], None] | None,
        archive: Archive | None,
    ) -> None:
        """Build the parts that are connected with each other, from the results on."""
        telemetry, queue, judge_queue, assembler = self._telemetry, self._queue, self._judge_queue, self._assembler
        self._redaction = Redaction(config.redact)
        self._results = Results(
            self._redaction, clock.wall_ns, values=config.explain.values, dimensions=self._dimensions,
            console=config.console.public_url if config.console.enabled else None,
        )  # fmt: skip
        hold = config.judge.hold if config.judge is not None else 0.0
        self._hold_queue = HoldQueue(queue, self._journal or self.offsets, self._redaction, assembler.held, hold)
        self._output = VerdictOutput(
            telemetry, self._results, self._hold_queue, clock, judge_queue, on_verdict, archive
        )
        self._conversations = Conversations(config.conversations, self._budget.conversations, self.gaps)
        assembler.held.spare = self._spare
        self._conversation_pipeline = ConversationPipeline(
            self._conversations, rules.set, self._journal, self._output, telemetry, clock, self._wait_for,
            config.context.skew_ns,
        )  # fmt: skip
        self._confirm = max(config.traces.settle, config.traces.confirm)
        # Else it has passed when a trace settles: fails are then given as early as passes.
        confirms = self._confirm > config.traces.settle
        self._evaluator = TraceEvaluator(self._results, clock, self._wait_for, confirms=confirms)
        self._traces = TracePipeline(
            assembler, self._conversation_pipeline, self._evaluator, self._hold_queue, self._journal, self._output, clock
        )  # fmt: skip
        self._requests = RequestPipeline(
            assembler, self._hold_queue, self._journal, self._redaction, telemetry, clock, self._settle,
            refused=self.refused, offsets=self.offsets, on_handover=self._conversations.note_handover,
        )  # fmt: skip

    def set_rules(self, rules: LoadedRules) -> None:
        """Score by these rules from now on, open traces too."""
        # A topic keyed by trace spreads the traces of a conversation over partitions, so no consumer has all of them.
        if self.offsets is not None and rules.set.has_scope("conversation"):
            _log.warning("rules with scope: conversation do nothing here: receivers.kafka reads topics keyed by trace")
        self._conversation_pipeline.rules = rules.set
        # Without a queue the runs are for whoever reads them from the verdicts, with all that a judge would be told.
        judged = rules.set.has_judges() and (self._judge_queue is None or self._judge_queue.has_judge)
        reads_content = judged or rules.set.reads_definitions
        route, intent, skew_ns = tuple(self._context.route), tuple(self._context.intent), self._context.skew_ns
        user_input = self._user_input or judged or bool(rules.set.intents)
        settings = ContextSettings(
            route, intent, skew_ns, user_input=user_input, content=reads_content, dimensions=self._dimensions,
            needs_intent=rules.set.reads_intents,
        )  # fmt: skip
        scoring = Scoring(
            rules.set, skew_ns, self._assembler.scored.has, self.refused.__contains__, self.gaps, self._running, self._confirm
        )  # fmt: skip
        reader = reader_for(rules, self._context, self._redaction, self._dimensions, content=reads_content)
        # Replaced as one object: an evaluation in slices goes on with the one it began with, never with half of each.
        self._evaluator.rules = Rules(
            rules.set,
            settings,
            scoring,
            collects_runs=rules.set.has_scope("conversation") and self.offsets is None,
            submits=self._judge_queue is not None and rules.set.has_judges(),
            version=next(self._versions),
            reader=reader,
        )
        if self._requests.seen_from is not None:
            self._conversation_pipeline.collect(all_runs=self._evaluator.rules.collects_runs)
        self._requests.reader = reader
        self._assembler.read_from_now(reader.names)

    # ---- in: called by receivers

    def receive(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Accept one OTLP protobuf request of any size, at one go. Raises DecodeError."""
        steps = self.receive_in_steps(signal, Structure(request), transport)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                rejected: Rejected = done.value
                return rejected

    def receive_in_steps(
        self, signal: Signal, request: Structure, transport: str, origin: Origin | None = None
    ) -> Steps:
        """Returns the steps of accepting one request, whether there is room or not. A step may raise DecodeError."""
        return self._requests.take(signal, request, transport, origin)

    def leave(self, partition: Partition) -> None:
        """Drop the open traces of a partition, unfinished: another consumer reads them again."""
        spans = traces = 0
        for trace_id in partition.unfinished():
            # Nothing else refers to a packed trace, and a partition may have a hundred thousand.
            held = self._assembler.open.remove_packed(trace_id)
            if held is None and (trace := self._assembler.open.get(trace_id)) is not None:
                held = len(trace.held)
                self._traces.drop(trace)
            if held is not None:
                spans, traces = spans + held, traces + 1
        self._telemetry.child(self._telemetry.dropped_spans, "assembly", "moved").inc(spans)
        self._telemetry.kafka_moved_traces.inc(traces)

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Count a request that was not accepted."""
        receiver = "kafka" if transport == "kafka" else "otlp"
        self._telemetry.child(self._telemetry.receiver_refused_spans, receiver, transport, error.reason).inc()
        # Its sender tries again, and may give it up without a word.
        if error.retry_after is not None and not error.was_read:
            now_ns = self._clock.wall_ns()
            self.gaps.add(now_ns, now_ns)

    # ---- over time: called by the service

    def advance(self, budget: float = 0.002) -> float:
        """Release traces and conversations that are due, for about ``budget`` seconds.

        Returns in how many seconds there is more to do. The budget limits how long scoring keeps new requests waiting.
        """
        # Nothing is taken while the queue is full, so that a trace is quiet says nothing: what it lacks may wait to be taken.
        if self._queue is not None and self._queue.full:
            self._time.pause()
            return _WHILE_FULL
        self._time.go_on()
        now = self._clock.now()
        self._pass_topic_time(now)
        # First, as under load every call ends before all that is due is released.
        self._hold_queue.advance(now)
        if self._journal is not None:
            self._journal.sweep(now)
        if self.refused:
            self.refused.forget_old()
        # Large traces go before others, for half of the time only: neither they nor many small ones can starve the others.
        self._traces.resume(now + budget)
        steps = (
            self._evict_beyond_limits(), self._release_due(now), self._conversation_pipeline.release_due(now),
            self._assembler.open.pack_quiet(now),
        )  # fmt: skip
        for _ in chain.from_iterable(steps):
            if self._clock.now() - now > 2 * budget:
                # Under load every call may end here, so what is ready has to leave here as well.
                self._output.flush(now)
                return 0.0
        self._traces.resume(now + 2 * budget)
        self._output.flush(now)
        if self._traces.busy:
            return 0.0
        parts = (self._assembler, self._conversation_pipeline, self._hold_queue, self._output)
        deadlines = [part.next_deadline() for part in parts]
        return max(0.0, min((deadline for deadline in deadlines if deadline is not None), default=now + 1.0) - now)

    def _pass_topic_time(self, now: float) -> None:
        """Let the time of what is read from a topic stand still while nobody can read it; what came over OTLP goes on."""
        if self.topic_stalled():
            self._topic_time.pause()
        else:
            self._topic_time.go_on()
        self._assembler.topic.note(now, now - self._topic_time.now())

    def end(self, trace_id: bytes) -> None:
        """Release a trace of which nothing more comes, also if it lacks spans; a large one soon."""
        trace = self._assembler.open.get(trace_id)
        if trace is not None and not trace.evaluating:
            self._traces.release_complete(iter([(trace, Due.IDLE)]))

    def evict(self, count: int = 100) -> None:
        """Release up to ``count`` traces and conversations as they are, because the memory limit is reached."""
        until = self._clock.now() + _TIME_TO_EVICT
        for _ in range(count):
            # What is leaving counts to no limit any more, and is evaluated soon.
            if (trace := self._assembler.open.next_to_evict()) is None:
                break
            self._traces.evict(trace)
            if self._clock.now() >= until:
                break
        self._conversation_pipeline.release("evicted", count)
        # Results that wait for a batch or a judge take memory too. No more of them is queued than one transaction takes.
        self._hold_queue.advance(float("inf"))
        self._output.flush(self._clock.now())

    def drain(self, release: str) -> None:
        """Release every open trace and conversation as it is, for ``release``: "shutdown" or "end_of_input"."""
        self.drain_traces(release)
        self._conversation_pipeline.release(release)
        # Not `flush`: results held for a judge stay until the judge's queue, which is stopped next, has had its time.
        self._output.flush(float("inf"))

    def drain_traces(self, release: str) -> None:
        """Release every open trace as it is, and leave conversations open."""
        # Evaluations in slices work on snapshots. Their traces are still open, so the loop below releases them whole.
        self._traces.abandon()
        for trace in self._assembler.open.all():
            self._traces.release(trace, release)
        self._traces.count_all()

    def take_conversation_runs(self) -> list[ConversationRun]:
        """Returns the runs of all open conversations, which are forgotten here: whoever has all of them scores them."""
        return self._conversations.take_runs()

    def add_conversation_runs(self, runs: Iterable[ConversationRun]) -> None:
        """Add runs that another pipeline collected."""
        self._conversation_pipeline.add(runs, self._clock.now())

    def hand_over(self, put: Callable[[ExportRequest], None]) -> int:
        """Put the held spans of open traces where their further spans arrive, but for traces whose verdict is sure now.

        Returns how many traces that were.
        """
        count = hand_over(self._assembler, self._traces, self._journal, self._evaluator.rules.scoring.handover, put)
        self._telemetry.handed_over_traces.inc(count)
        return count

    def abandon(self) -> None:
        """Leave the large traces whose verdicts are being made to the next start."""
        self._traces.abandon()

    def flush(self) -> None:
        """Queue all results, without waiting for a batch to fill or for a judge."""
        self._hold_queue.advance(float("inf"))
        self._output.flush(float("inf"))

    # ---- from start to stop: called by the service

    def listens(self) -> None:
        """Note that from now on what is sent here arrives; it did not since the process before this one stopped."""
        if self._journal is not None and (stopped_ns := self._journal.received_until):
            self.gaps.add(stopped_ns, self._clock.wall_ns())

    def recover(self) -> Iterator[None]:
        """Restore open traces and queued requests from the spool, in steps of milliseconds."""
        if self._journal is None:
            return
        forward = partial(forward_unscored, redaction=self._redaction, queue=self._queue, telemetry=self._telemetry)
        recovery = Recovery(
            self._journal, self._assembler, self._conversations, self.refused, self.gaps,
            self._requests.reader.decoder, self._requests.reader.span, self._requests.add_log, forward, self._clock.now,
        )  # fmt: skip
        yield from resume(recovery.run(), self._assembler.held, self._queue, self._telemetry)

    def ready(self) -> None:
        """Note that from now on spans arrive as they are made: runs and conversations may have begun unseen before."""
        self.gaps.passed()  # what is open now was so before the process stopped
        self._requests.ready(self._assembler.ready(self._clock.wall_ns, self._clock.now()))
        if self._journal is not None:
            self._journal.record_receiving(self._clock.wall_ns)
        self._conversation_pipeline.collect(all_runs=self._evaluator.rules.collects_runs)

    def stops_listening(self) -> None:
        """Note that from now on nothing arrives any more."""
        if self._journal is not None:
            stopped_ns = self._clock.wall_ns()
            self._journal.record_receiving(lambda: stopped_ns)

    def now(self) -> float:
        """Returns the time of what is read from a topic, in seconds: it stands still while that cannot be read or sent on."""
        return self._topic_time.now()

    @property
    def open_traces(self) -> int:
        """How many traces wait for their verdict."""
        return len(self._assembler)

    # ---- called by the parts

    def _wait_for(self, texts: Iterable[str]) -> float:
        """Returns in how many seconds these texts will be embedded, 0 if they are, or nothing embeds ahead."""
        try:
            return self._embed_ahead(texts) if self._embed_ahead is not None else 0.0
        except Exception:  # noqa: BLE001 - scoring raises it again, and it is reported there
            return 0.0

    def _spare(self) -> int:
        """Returns how many bytes open traces may take beyond their share, of what others leave of theirs."""
        parts = (self._queue, self._conversations, self._judge_queue)
        taken = sum([part.used_bytes for part in parts if part is not None])
        return self._budget.spare(taken + self._assembler.remembered_bytes)

    def _settle(self, now: float, before: Occupied) -> Iterator[None]:
        """After each slice, in steps: it pays for the room that it takes, and not for what others took ``before``."""
        # Results that wait for a judge give way first: their verdicts are made.
        self._hold_queue.shed(now)
        yield from self._evict_beyond_limits(before)
        self._output.flush(now)

    def _evict_beyond_limits(self, before: Occupied = Occupied()) -> Iterator[None]:  # noqa: B008 - a tuple
        while (trace := self._assembler.over_limit(before)) is not None:
            self._traces.evict(trace)
            yield

    def _release_due(self, now: float) -> Iterator[None]:
        due = self._assembler.due(now)
        while self._traces.release_complete(due):
            yield


def _offsets_of(assembler: Assembler, time: PausableTime) -> Offsets:
    offsets = Offsets(assembler.is_open, assembler.is_closed, assembler.was_evicted, time.now)
    assembler.topic.is_of_topic = offsets.is_reading
    return offsets
