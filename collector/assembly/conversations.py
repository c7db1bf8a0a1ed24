"""Open conversations: the runs collected of each until it is over, and when that is.

Theory of operation. Where a rule has the scope ``conversation``, every scored run that names a conversation is collected
here, serialised. When no run was added for ``idle_timeout`` the conversation is over: it is scored, and remembered for a
while with all its runs. A run that is added then reopens it, and makes a further revision of its verdict once it is quiet
again. ``max_duration`` and the limits on open conversations and bytes end one early, the limits on runs and calls leave further
runs out, or calls of one: all of these make it incomplete. So does a beginning that is not here: that was evicted or is no
longer remembered, or may have been before runs were collected, or at an instance that has left.

Single-threaded, without locks; time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import Any, Final, NamedTuple

from collector.assembly.deadlines import Deadlines
from collector.assembly.gaps import Gaps
from collector.assembly.recent_keys import RecentKeys
from collector.config.model import ConversationsConfig

IDLE, MAX_DURATION = "idle", "max_duration"
_FORGOTTEN: Final = 10
"""Of how many times as many conversations as are kept it is known at least that they had a verdict."""
_REROUTED: Final = 60.0
"""Seconds by which what an instance would have been sent may come here before it hands over what is open there."""
_RUN = 1_000  # bytes of a run, and its part of the conversation, beside its record
_COMPLETE = frozenset({IDLE, "end_of_input"})  # released only because no further run came


class ConversationKey(NamedTuple):
    """Identifies a conversation: ids of different tenants and different systems are never the same."""

    tenant: str | None
    system: str | None
    conversation_id: str

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        """Any total order: conversations due at the same instant need one, and None has none."""
        return repr(self) < repr(other)


@dataclass(slots=True, eq=False)
class ConversationRun:
    """One run as it was collected; ``record`` is read by ``collector.scoring.conversations``."""

    key: ConversationKey
    anchor: bytes
    """Trace id and span id. A run collected again replaces what was known of it."""
    calls: int
    complete: bool
    record: bytes
    start_ns: int
    parts: tuple[bytes, ...] = ()
    """Anchors of what was collected before as runs of their own: it replaces them."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.record) + _RUN

    @property
    def anchors(self) -> tuple[bytes, ...]:
        """Its own, and those of the runs that it replaces."""
        return (self.anchor, *self.parts)


class Added(Enum):
    """What became of a run."""

    STORED = auto()
    CUT = auto()
    """Stored without some of its calls: the conversation is incomplete."""
    TRUNCATED = auto()
    """Left out, the first one: from now on the conversation is incomplete."""
    LEFT_OUT = auto()


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
    """It has its verdict and no run was added since."""
    truncated: bool = False
    """Runs were left out because a limit was reached, or may not have been collected."""
    due: float = 0.0
    known_forbidden: frozenset[str] | None = frozenset()
    """Tools of which its verdicts counted forbidden calls; None if that is not known."""

    @property
    def size(self) -> int:
        """About how many bytes its runs take."""
        return sum(run.size for run in self.runs.values())

    def complete(self, release: str) -> bool:
        """Whether a verdict for this reason of release covers all of it."""
        return release in _COMPLETE and not self.truncated and all(run.complete for run in self.runs.values())


class Conversations:
    """All open conversations, the least recently touched first, and the remembered ones."""

    def __init__(self, config: ConversationsConfig, max_bytes: int, gaps: Gaps) -> None:
        self._config, self._max_bytes, self._gaps = config, max_bytes, gaps
        self._open: OrderedDict[ConversationKey, Conversation] = OrderedDict()
        self._over: OrderedDict[ConversationKey, Conversation] = OrderedDict()
        self._deadlines = Deadlines(self._open)
        self._bytes = 0
        self._keys: dict[bytes, ConversationKey] = {}  # by anchor of each run
        self._forgotten = RecentKeys(_FORGOTTEN * (config.max_open + config.remember), gaps.wall_ns)
        self._handed_over = -inf
        self.collected_from: int | None = None
        """Since when all runs are collected, in ns of wall time. None where recordings are read: they are all there is."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def used_bytes(self) -> int:
        """About how many bytes open and remembered conversations take."""
        return self._bytes

    def add(
        self, run: ConversationRun, now: float, cut: Callable[[ConversationRun, int], ConversationRun] | None = None
    ) -> tuple[Conversation, Added]:
        """Add a run unless a limit is reached. Returns its conversation, and what became of the run.

        ``cut`` returns a run with so many of its calls: as many as there is room for. Without any, only the run that begins
        the conversation is kept, as it selects the rule.
        """
        known = self._open.get(run.key) or self._over.get(run.key)
        others = [] if known is None else [other for anchor, other in known.runs.items() if anchor not in run.anchors]
        room = self._config.max_calls - sum([other.calls for other in others])
        is_cut = run.calls > room
        if is_cut and cut is not None and (room > 0 or all(run.start_ns < other.start_ns for other in others)):
            run = cut(run, max(0, room))
        if run.calls > max(0, room) or len(others) >= self._config.max_runs:
            return self._leave_out(run, known, now)
        conversation = self._reopen(run.key, now)
        conversation.truncated |= is_cut
        self._put(conversation, run)
        return conversation, Added.CUT if is_cut else Added.STORED

    def _leave_out(self, run: ConversationRun, known: Conversation | None, now: float) -> tuple[Conversation, Added]:
        # A verdict that says that runs were left out says so of this one, too.
        if known is not None and known.is_over and known.truncated:
            return known, Added.LEFT_OUT
        conversation = self._reopen(run.key, now)
        outcome = Added.LEFT_OUT if conversation.truncated else Added.TRUNCATED
        conversation.truncated = True
        return conversation, outcome

    def leave(self, run: ConversationRun, now: float) -> list[tuple[Conversation, bytes]]:
        """Take a run that is to be added, and its parts, out of other conversations. Returns from which, and its anchor there.

        One that has its verdict opens for a further revision. One that is left with no run is not remembered any more. Where
        the run begins its conversation, which has no room for it, the one that began last leaves that.
        """
        left = self._make_room(run, now)
        for anchor in run.anchors:
            key = self._keys.get(anchor)
            if key is None or key == run.key:
                continue
            conversation = self._open.get(key) or self._over[key]
            self._take_out(conversation, anchor)
            if conversation.runs:
                self._reopen(key, now)
            else:
                self._drop(conversation)
            left.append((conversation, anchor))
        return left

    def _make_room(self, run: ConversationRun, now: float) -> list[tuple[Conversation, bytes]]:
        known = self._open.get(run.key) or self._over.get(run.key)
        others = [] if known is None else [other for anchor, other in known.runs.items() if anchor not in run.anchors]
        # The first selects the rule: without it another rule would judge.
        if len(others) < self._config.max_runs or any(other.start_ns <= run.start_ns for other in others):
            return []
        last = max(others, key=lambda other: other.start_ns)
        conversation = self._reopen(run.key, now)
        conversation.truncated = True
        self._take_out(conversation, last.anchor)
        return [(conversation, last.anchor)]

    def note_handover(self, now: float) -> None:
        """Note that an instance which leaves hands its traces over: conversations that begin here may have begun there."""
        if now - self._handed_over < 1.0:  # it is one of many requests
            return
        self._handed_over = now
        for conversation in reversed(self._open.values()):
            if conversation.touched < now - _REROUTED:
                return
            conversation.truncated |= conversation.revision == 0 and conversation.opened >= now - _REROUTED

    def due(self, now: float) -> Iterator[tuple[Conversation, str]]:
        """Yield the conversations that are over, and why. For each call ``close`` or ``postpone``."""
        for conversation in self._deadlines.pop_due(now):
            # Idle first: where both have passed, the conversation is
            # whole, and `max_duration` would make it incomplete.
            if now >= conversation.touched + self._config.idle_timeout:
                yield conversation, IDLE
            elif now >= conversation.opened + self._config.max_duration:
                yield conversation, MAX_DURATION
            else:
                self._deadlines.schedule(conversation.key, self._deadline(conversation))

    def next_deadline(self) -> float | None:
        """Returns when ``due`` may next yield something, None for never."""
        return self._deadlines.next()

    def postpone(self, conversation: Conversation, at: float) -> None:
        """Make a conversation that cannot be scored yet due at ``at``."""
        self._deadlines.schedule(conversation.key, at)

    def evict_remembered(self) -> list[Conversation]:
        """Evict remembered conversations, the oldest first, while all of them take too many bytes; returns them."""
        evicted = []
        while self._bytes > self._max_bytes and self._over:
            evicted.append(self._evict_oldest())
        return evicted

    def over_limit(self) -> Conversation | None:
        """The open conversation to ``close`` as evicted, if there are too many or they take too many bytes."""
        if self._open and (self._bytes > self._max_bytes or len(self._open) > self._config.max_open):
            return next(iter(self._open.values()))
        return None

    def may_lack_runs(self, conversation: Conversation) -> bool:
        """Whether it may have begun before runs were collected, before the end of a gap in which a run may be lost, or as one
        of which nothing is known any more.

        A conversation that was quiet for ``idle_timeout`` is over, so none has that begins so long after that time. None that
        began more than ``max_duration`` before it goes on, so that is a recording, which is replayed whole.
        """
        if self.collected_from is None:
            return False
        since = max(self.collected_from, self._gaps.latest_ns, self._forgotten.known_since_ns)
        begun = min([run.start_ns for run in conversation.runs.values()], default=since)
        unseen = (since - begun) / 1e9
        return -self._config.idle_timeout < unseen <= self._config.max_duration

    def open(self) -> list[Conversation]:
        """Every open conversation, the least recently touched first."""
        return list(self._open.values())

    def take_runs(self) -> list[ConversationRun]:
        """Returns the runs of all open conversations, and forgets them."""
        runs = [run for conversation in self._open.values() for run in conversation.runs.values()]
        for run in runs:
            del self._keys[run.anchor]
        self._bytes -= sum(conversation.size for conversation in self._open.values())
        self._open.clear()
        return runs

    def close(self, conversation: Conversation, release: str) -> list[Conversation]:
        """Remember a scored conversation unless its release is ``evicted``. Returns those not remembered any more."""
        del self._open[conversation.key]
        # Evicted for lack of room: to remember it would keep the bytes.
        if release == "evicted":
            self._forget(conversation)
            return [conversation]
        conversation.is_over = True
        conversation.revision += 1
        return self._remember(conversation)

    # ---- after a restart

    def restore_run(self, run: ConversationRun, now: float) -> None:
        """Add a run collected before the restart; it was within the limits then."""
        self._put(self._reopen(run.key, now), run)

    def restore_state(
        self,
        key: ConversationKey,
        revision: int,
        now: float,
        *,
        truncated: bool,
        is_over: bool,
        known_forbidden: frozenset[str] | None,
    ) -> list[Conversation]:
        """Take what was recorded of a conversation beyond its runs. Returns those not remembered any more."""
        # The runs recorded before this may all have been collected again since: then they follow it.
        conversation = self._open.get(key) or self._over.get(key) or self._reopen(key, now)
        conversation.revision, conversation.truncated, conversation.is_over = revision, truncated, is_over
        conversation.known_forbidden = known_forbidden
        return self._remember(self._open.pop(key)) if is_over and key in self._open else []

    # ---- internal

    def _reopen(self, key: ConversationKey, now: float) -> Conversation:
        """Returns the conversation, open, as the most recently touched one."""
        # Taken out and put back, so that the order of the dict is
        # that of the last touch, by which conversations are evicted.
        conversation = self._open.pop(key, None)
        is_new = conversation is None
        if conversation is None:
            conversation = self._over.pop(key, None) or self._begin(key, now)
            conversation.opened, conversation.is_over = now, False
        conversation.touched = now
        self._open[key] = conversation
        # A further run only moves `touched`: `due` finds that out at the old deadline, and schedules the new one.
        if is_new:
            self._deadlines.schedule(key, self._deadline(conversation))
        return conversation

    def _begin(self, key: ConversationKey, now: float) -> Conversation:
        # What is known of one that was forgotten is only that it had a verdict, which a further one revises.
        if key in self._forgotten:
            return Conversation(key, now, now, revision=1, truncated=True, known_forbidden=None)
        return Conversation(key, now, now, truncated=now - self._handed_over < self._config.idle_timeout)

    def _put(self, conversation: Conversation, run: ConversationRun) -> None:
        for anchor in run.anchors:
            if anchor in conversation.runs:
                self._take_out(conversation, anchor)
        conversation.runs[run.anchor], self._keys[run.anchor] = run, run.key
        conversation.calls += run.calls
        self._bytes += run.size

    def _take_out(self, conversation: Conversation, anchor: bytes) -> None:
        del self._keys[anchor]
        run = conversation.runs.pop(anchor)
        conversation.calls -= run.calls
        self._bytes -= run.size

    def _drop(self, conversation: Conversation) -> None:
        self._open.pop(conversation.key, None)
        self._over.pop(conversation.key, None)
        if conversation.revision:  # else it never had a verdict
            self._forgotten.add([conversation.key])

    def _deadline(self, conversation: Conversation) -> float:
        config = self._config
        return min(conversation.touched + config.idle_timeout, conversation.opened + config.max_duration)

    def _remember(self, conversation: Conversation) -> list[Conversation]:
        self._over[conversation.key] = conversation
        return [self._evict_oldest()] if len(self._over) > self._config.remember else []

    def _evict_oldest(self) -> Conversation:
        _, oldest = self._over.popitem(last=False)
        self._forget(oldest)
        return oldest

    def _forget(self, conversation: Conversation) -> None:
        self._bytes -= conversation.size
        for anchor in conversation.runs:
            del self._keys[anchor]
        self._forgotten.add([conversation.key])
