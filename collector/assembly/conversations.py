"""Open conversations: the runs gathered of each until it is over, and when that time has come.

Theory of operation. Where a rule has the scope ``conversation``, every run that has its verdict and names a conversation
is gathered here, as bytes. When nothing was added for ``idle_timeout`` the conversation is over: it gets its verdict, and
is remembered for a while with all its runs. A run that is added then opens it again, and makes a further revision of its
verdict once it is quiet again. One that is no longer remembered begins anew. ``max_duration`` and the limits on open
conversations and bytes end one early, that on runs and calls keeps further ones out: all of that makes it incomplete.

What changed since it was last asked for stands in ``changes``, for the journal: what to keep and what to drop, in order.
One owner, no locks; time is an argument.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.config.model import ConversationsConfig

IDLE, MAX_DURATION = "idle", "max_duration"
_WHOLE = frozenset({IDLE, "end_of_input"})  # released for no other reason than that nothing more came


class ConversationKey(NamedTuple):
    """Which conversation: ids of different tenants and different systems are never the same."""

    tenant: str | None
    system: str | None
    conversation_id: str


@dataclass(slots=True, eq=False)
class ConversationRun:
    """One run as it was gathered; ``record`` is for ``collector.scoring.conversations`` to read."""

    key: ConversationKey
    anchor: bytes
    """Its trace and span id: the same run gathered again takes the place of what was known of it."""
    calls: int
    complete: bool
    record: bytes
    row: int = 0
    """Where the journal keeps it, 0 for nowhere."""


@dataclass(slots=True, eq=False)
class Mark:
    """What a conversation is beyond its runs."""

    record: bytes
    row: int = 0


Change = tuple[ConversationRun | Mark, bool]
"""Something to keep (True), or to drop (False)."""


@dataclass(slots=True, eq=False)
class Conversation:
    """One open or remembered conversation."""

    key: ConversationKey
    opened: float
    touched: float
    runs: dict[bytes, ConversationRun] = field(default_factory=dict)
    calls: int = 0
    revision: int = 0
    """Of its next verdict."""
    is_over: bool = False
    """It has its verdict and nothing came since."""
    truncated: bool = False
    """Some of it was not kept, because a limit was reached."""
    due: float = 0.0
    mark: Mark | None = None

    def complete(self, release: str) -> bool:
        """Whether a verdict released so is on all of it."""
        return release in _WHOLE and not self.truncated and all(run.complete for run in self.runs.values())


class Conversations:
    """All open conversations, those quiet longest first, and those remembered. ``changes`` grow only if ``journaled``."""

    def __init__(self, config: ConversationsConfig, *, journaled: bool) -> None:
        self._config, self._journaled = config, journaled
        self._open: dict[ConversationKey, Conversation] = {}
        self._over: dict[ConversationKey, Conversation] = {}
        self._deadlines: list[tuple[float, int, ConversationKey]] = []
        self._scheduled = itertools.count()  # keys have no order among themselves: a tenant may be None
        self._size = 0
        self.changes: list[Change] = []

    def __len__(self) -> int:
        return len(self._open)

    def add(self, run: ConversationRun, now: float) -> None:
        """Take a run."""
        conversation = self._awaken(run.key, now)
        before = conversation.runs.get(run.anchor)
        calls = conversation.calls + run.calls - (before.calls if before else 0)
        runs = len(conversation.runs) + (before is None)
        if runs > self._config.max_runs or calls > self._config.max_calls:
            if not conversation.truncated:
                conversation.truncated = True
                self._note(conversation)
            return
        if before is not None:
            self._drop(before)
        conversation.runs[run.anchor] = run
        conversation.calls = calls
        self._size += len(run.record)
        self._changed(run, keep=True)

    def due(self, now: float) -> Iterator[tuple[Conversation, str]]:
        """The conversations whose time has come, and why; ``close`` each."""
        while self._deadlines and self._deadlines[0][0] <= now:
            at, _, key = heapq.heappop(self._deadlines)
            conversation = self._open.get(key)
            if conversation is None or conversation.due != at:
                continue
            if now >= conversation.touched + self._config.idle_timeout:
                yield conversation, IDLE
            elif now >= conversation.opened + self._config.max_duration:
                yield conversation, MAX_DURATION
            else:
                self._schedule(conversation, self._deadline(conversation))

    def next_deadline(self) -> float | None:
        """When ``due`` may next yield something."""
        return self._deadlines[0][0] if self._deadlines else None

    def postpone(self, conversation: Conversation, at: float) -> None:
        """Its verdict cannot be made yet: ``due`` will name it again."""
        self._schedule(conversation, at)

    def over_limit(self) -> Conversation | None:
        """The conversation to ``close`` as evicted, when there are too many, or they take too much."""
        most = self._config.max_held_mib << 20
        while self._size > most and self._over:
            self._forget(self._over.pop(next(iter(self._over))))
        if self._open and (self._size > most or len(self._open) > self._config.max_open):
            return next(iter(self._open.values()))
        return None

    def open(self) -> list[Conversation]:
        """Every open conversation, the one quiet longest first."""
        return list(self._open.values())

    def close(self, conversation: Conversation, release: str) -> None:
        """Its verdict is given. One that was evicted is forgotten, any other remembered."""
        del self._open[conversation.key]
        if release == "evicted" or not self._config.remember:
            self._forget(conversation)
            return
        conversation.is_over = True
        conversation.revision += 1
        self._note(conversation)
        self._remember(conversation)

    # ---- after a restart

    def restore(self, run: ConversationRun, now: float) -> None:
        """Take a run that was kept before; what was kept before of the same run is dropped."""
        conversation = self._awaken(run.key, now)
        before = conversation.runs.get(run.anchor)
        if before is not None:
            conversation.calls -= before.calls
            self._drop(before)
        conversation.runs[run.anchor] = run
        conversation.calls += run.calls
        self._size += len(run.record)

    def restore_mark(self, record: bytes, row: int, now: float) -> None:
        """Take what was noted of a conversation. Raises ValueError where it is damaged."""
        written = json.loads(record)
        try:
            key, revision = ConversationKey(*written["key"]), int(written["revision"])
            truncated, is_over = bool(written["truncated"]), bool(written["is_over"])
            # Runs from before the mark may all have been gathered again since: then they come after it.
            conversation = self._open.get(key) or self._over.get(key) or self._awaken(key, now)
        except (KeyError, TypeError) as error:
            raise ValueError("the mark of a conversation is damaged") from error
        if conversation.mark is not None:
            self._changed(conversation.mark, keep=False)
        conversation.mark = Mark(record, row)
        conversation.revision, conversation.truncated, conversation.is_over = revision, truncated, is_over
        if is_over and key in self._open:
            self._remember(self._open.pop(key))

    # ---- inside

    def _awaken(self, key: ConversationKey, now: float) -> Conversation:
        """The conversation, open, as the one touched last."""
        conversation = self._open.pop(key, None)
        if conversation is None:
            conversation = self._over.pop(key, None) or Conversation(key, now, now)
            conversation.opened, conversation.touched, conversation.is_over = now, now, False
            self._schedule(conversation, self._deadline(conversation))
        conversation.touched = now
        self._open[key] = conversation
        return conversation

    def _deadline(self, conversation: Conversation) -> float:
        config = self._config
        return min(conversation.touched + config.idle_timeout, conversation.opened + config.max_duration)

    def _schedule(self, conversation: Conversation, at: float) -> None:
        conversation.due = at
        heapq.heappush(self._deadlines, (at, next(self._scheduled), conversation.key))

    def _remember(self, conversation: Conversation) -> None:
        self._over[conversation.key] = conversation
        if len(self._over) > self._config.remember:
            self._forget(self._over.pop(next(iter(self._over))))

    def _forget(self, conversation: Conversation) -> None:
        for run in conversation.runs.values():
            self._drop(run)
        if conversation.mark is not None:
            self._changed(conversation.mark, keep=False)

    def _drop(self, run: ConversationRun) -> None:
        self._size -= len(run.record)
        self._changed(run, keep=False)

    def _note(self, conversation: Conversation) -> None:
        if not self._journaled:
            return
        before = conversation.mark
        told = {name: getattr(conversation, name) for name in ("key", "revision", "truncated", "is_over")}
        conversation.mark = Mark(json.dumps(told).encode())
        self._changed(conversation.mark, keep=True)
        if before is not None:
            self._changed(before, keep=False)

    def _changed(self, what: ConversationRun | Mark, *, keep: bool) -> None:
        if self._journaled:
            self.changes.append((what, keep))
