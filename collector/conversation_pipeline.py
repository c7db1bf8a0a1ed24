"""Conversations, for rules that have them as scope: from the runs of scored traces to the verdict on all of them.

Beside the way of a span: the spans of these runs have left with the verdicts of their own traces.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from collector.assembly.conversations import Conversation, ConversationRun, Conversations
from collector.clock import Clock
from collector.delivery.hold import HeldExport
from collector.scoring.conversations import cut, score, texts_to_embed
from collector.scoring.failures import failed_conversation
from collector.scoring.verdict import known_forbidden
from collector.storage.journal import Journal
from collector.telemetry.metrics import Telemetry
from collector.verdict_output import VerdictOutput
from scorers import RuleSet

_log = logging.getLogger(__name__)


class ConversationPipeline:
    """Collects runs and scores each conversation by ``rules`` when it is over. ``wait_for`` is that of the pipeline."""

    def __init__(
        self,
        conversations: Conversations,
        rules: RuleSet,
        journal: Journal | None,
        output: VerdictOutput,
        telemetry: Telemetry,
        clock: Clock,
        wait_for: Callable[[Iterable[str]], float],
        skew_ns: int,
    ) -> None:
        self._skew_ns = skew_ns
        self._conversations, self.rules, self._journal = conversations, rules, journal
        self._output, self._telemetry, self._clock, self._wait_for = output, telemetry, clock, wait_for
        telemetry.conversations_open.set_function(lambda: len(conversations))

    def add(self, runs: Iterable[ConversationRun], now: float) -> None:
        """Add the runs of a trace that was just scored, and enforce the limits."""
        for run in runs:
            left = self._conversations.leave(run, now)
            if self._journal is not None:
                self._journal.conversations.remove_runs(left)
            conversation, added = self._conversations.add(run, now, cut)
            if self._journal is not None:
                self._journal.conversations.add_run(conversation, conversation.runs.get(run.anchor, run), added)
        # Remembered ones give way first: they have their verdict, and lose only the chance of a revision.
        evicted = self._conversations.evict_remembered()
        if self._journal is not None:
            self._journal.conversations.evict(evicted)
        while (oldest := self._conversations.over_limit()) is not None:
            self._conclude(oldest, "evicted")

    def collect(self, *, all_runs: bool) -> None:
        """Note that from now on all runs are collected as they are made, or none are."""
        if all_runs != (self._conversations.collected_from is not None):
            since_ns = self._conversations.collected_from = self._clock.wall_ns() if all_runs else None
            self._record_collecting(since_ns)

    def release_due(self, now: float) -> Iterator[None]:
        """Score the conversations that are over, or postpone them; yields after each one."""
        for conversation, release in self._conversations.due(now):
            if self.rules.embeds and (wait := self._wait_for(texts_to_embed(conversation, self.rules))):
                self._conversations.postpone(conversation, self._clock.now() + wait)
            else:
                self._conclude(conversation, release)
            yield

    def release(self, release: str, count: int | None = None) -> None:
        """Score the ``count`` least recently touched open conversations, or all, as they are, for ``release``."""
        for conversation in self._conversations.open()[:count]:
            self._conclude(conversation, release)

    def next_deadline(self) -> float | None:
        """Returns when ``release_due`` may next have something to do, None for never."""
        return self._conversations.next_deadline()

    def _conclude(self, conversation: Conversation, release: str) -> None:
        """Score a conversation, export and count its verdicts, and remember or evict it."""
        if self._conversations.may_lack_runs(conversation):
            conversation.truncated = True
        try:
            verdicts, resource = score(conversation, self.rules, release, self._skew_ns)
            self._output.export_events(verdicts, resource)
            # The spans have left with their own traces, so nothing is held: the judgement becomes an event of its own.
            self._output.submit_for_judging(verdicts, HeldExport(b"", [], []), lambda _: resource, conversation.size)
        except Exception as error:  # noqa: BLE001 - a bug in a scorer must not end the process
            _log.exception("conversation %s could not be scored", conversation.key.conversation_id)
            verdicts = [failed_conversation(conversation, release, error)]
            self._output.export_events(verdicts, b"")
        conversation.known_forbidden = known_forbidden(verdicts, conversation.known_forbidden)
        # A revision is not one more conversation.
        if conversation.revision == 0:
            self._telemetry.child(self._telemetry.conversations, release).inc()
        evicted = self._conversations.close(conversation, release)
        if self._journal is not None:
            self._journal.conversations.close(conversation, evicted)
        # A restart forgets which ones were evicted.
        if release == "evicted" and self._conversations.collected_from is not None:
            self._record_collecting(self._clock.wall_ns())
        self._output.count(verdicts, [])

    def _record_collecting(self, since_ns: int | None) -> None:
        if self._journal is not None:
            self._journal.conversations.record_collecting(since_ns)
