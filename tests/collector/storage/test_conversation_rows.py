"""Conversations across a restart: the journal over a real file, and what recovery makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from collector import dialects
from collector.assembly.assembler import Assembler
from collector.assembly.conversations import Conversation, ConversationKey, ConversationRun, Conversations
from collector.assembly.gaps import Gaps
from collector.assembly.refused_traces import RefusedTraces
from collector.clock import SYSTEM_CLOCK, Clock
from collector.config.model import ConversationsConfig, TracesConfig
from collector.otlp.decode import Decoder
from collector.scoring.conversations import restore, write
from collector.storage.journal import Journal
from collector.storage.records import RecordKind, read_conversation
from collector.storage.recovery import Recovery
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.collector.verdicts import run_of
from tests.otlp_data import span_id


def key(number: int = 1) -> ConversationKey:
    return ConversationKey(None, "shop", f"c-{number}")


def run(number: int, of: ConversationKey, calls: int = 1, at: float = 0) -> ConversationRun:
    made = run_of(*"abc"[:calls], span_id=span_id(number), start_ns=int(at * 1e9))
    return restore(write(of, made, b"", complete=True, reading=""))


class Journaled:
    """Conversations with a journal. ``restart`` writes what was committed and reads it back."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self._folder = folder
        limits = {"idle_timeout": 10, "max_duration": 60, **config}
        self._config = ConversationsConfig.model_validate(limits)
        self._start(0)

    def _start(self, now: float) -> None:
        self.file = SpoolFile(self._folder, fsync=False)
        self._spool = Spool(self.file, 1 << 30, Telemetry())
        assembler, gaps = Assembler(TracesConfig()), Gaps(Clock(wall_ns=lambda: 0), 60.0)
        self.table = Conversations(self._config, 64 << 20, gaps)
        self._journal = Journal(self._spool, assembler.is_open, 30.0)
        decoder = Decoder(frozenset(), (), dialects.SCOPES)
        recovery = Recovery(
            self._journal,
            assembler,
            self.table,
            RefusedTraces(SYSTEM_CLOCK, gaps),
            gaps,
            decoder,
            dialects.read_span,
            lambda *_: b"",
            lambda _: None,
            lambda: now,
        )
        assert not any(recovery.run())

    def add(self, number: int, now: float, of: ConversationKey | None = None, calls: int = 1, at: float = 0) -> None:
        added = run(number, of or key(), calls, at)
        self._journal.conversations.remove_runs(self.table.leave(added, now))
        self._journal.conversations.add_run(*self._add(added, now))

    def _add(self, added: ConversationRun, now: float) -> tuple[Conversation, ConversationRun, Any]:
        conversation, outcome = self.table.add(added, now)
        return conversation, added, outcome

    def close_due(self, now: float) -> list[tuple[Conversation, str]]:
        found = list(self.table.due(now))
        for conversation, release in found:
            self._journal.conversations.close(conversation, self.table.close(conversation, release))
        return found

    def records(self) -> list[tuple[int, bytes]]:
        self._journal.commit()
        change, self._spool._pending = self._spool._pending, Change()
        self.file.apply(change)
        return [(kind, record) for _, kind, record in self.file.inbox() if record is not None]

    def restart(self, now: float) -> None:
        self.records()
        self.close()
        self._start(now)

    def close(self) -> None:
        self.file.close()


@pytest.fixture
def journaled(tmp_path: Path) -> Iterator[Callable[..., Journaled]]:
    """Makes one, and closes it after the test."""
    with ExitStack() as ending:
        yield lambda **config: ending.enter_context(closing(Journaled(tmp_path, **config)))


def test_an_open_one_goes_on_after_a_restart(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    life.add(1, 0, calls=1)
    life.add(1, 1, calls=2)
    life.restart(100)
    life.add(2, 105)
    assert life.close_due(110) == []
    ((conversation, release),) = life.close_due(115)
    assert (conversation.calls, conversation.revision, conversation.complete(release)) == (3, 1, True)


def test_one_that_has_its_verdict_stays_over_until_a_run_is_added(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    life.add(1, 0)
    life.close_due(10)
    life.restart(100)
    assert (len(life.table), list(life.table.due(200))) == (0, [])
    life.add(2, 201)
    ((conversation, _),) = life.table.due(211)
    assert (conversation.revision, len(conversation.runs)) == (1, 2)


def test_one_reopened_is_open_after_a_restart_and_one_truncated_is_incomplete(
    journaled: Callable[..., Journaled],
) -> None:
    life = journaled(max_runs=2)
    life.add(1, 0)
    life.close_due(10)
    life.add(2, 11)
    life.add(3, 12)
    life.restart(100)
    ((conversation, release),) = life.close_due(110)
    assert (conversation.revision, conversation.complete(release)) == (2, False)


@pytest.mark.parametrize("max_runs", [1, 2])
def test_a_run_that_made_room_for_the_first_is_gone_after_a_restart(
    journaled: Callable[..., Journaled], max_runs: int
) -> None:
    life = journaled(max_runs=max_runs)
    for number in range(max_runs):
        life.add(number + 1, 0, at=number + 20)
    life.close_due(10)
    life.add(5, 11, at=10)
    life.restart(100)
    ((conversation, release),) = life.close_due(110)
    kept = [run(number, key()).anchor for number in range(1, max_runs)]
    assert (list(conversation.runs), conversation.revision) == ([*kept, run(5, key()).anchor], 2)
    assert not conversation.complete(release)


def test_one_whose_only_run_was_collected_again_keeps_its_revision(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    life.add(1, 0)
    life.close_due(10)
    life.add(1, 11, calls=2)
    life.restart(100)
    ((conversation, _),) = life.close_due(110)
    assert (conversation.revision, conversation.calls, len(conversation.runs)) == (2, 2, 1)


def test_a_run_collected_again_has_one_record(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    life.add(1, 0)
    life.records()
    life.add(1, 1, calls=2)
    assert [restore(record).calls for _, record in life.records()] == [2]


def test_each_run_and_the_verdict_have_one_record_across_restarts(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    for number in (1, 2):
        life.add(number, 0)
    life.close_due(10)
    life.restart(100)
    life.add(1, 101, calls=2)
    life.close_due(111)
    life.restart(200)
    life.restart(300)
    kinds = [RecordKind(kind).name for kind, _ in life.records()]
    assert sorted(kinds) == ["CONVERSATION", "RUN", "RUN"]
    life.add(3, 301)
    (conversation,) = life.table.open()
    assert (conversation.revision, conversation.calls, len(conversation.runs)) == (2, 4, 3)
    life._journal.conversations.close(conversation, life.table.close(conversation, "evicted"))
    assert life.records() == []


def test_nothing_is_stored_of_an_evicted_conversation(journaled: Callable[..., Journaled]) -> None:
    life = journaled(remember=1)
    for number in (1, 2, 3):
        life.add(number, 0, key(number))
    life.close_due(10)
    (run_kind, run_record), (state_kind, state_record) = life.records()
    assert (run_kind, state_kind) == (RecordKind.RUN, RecordKind.CONVERSATION)
    assert {restore(run_record).key, read_conversation(state_record).key} == {key(3)}


def test_with_a_lower_limit_after_the_restart_the_oldest_are_evicted(journaled: Callable[..., Journaled]) -> None:
    life = journaled()
    for number in (1, 2):
        life.add(number, 0, key(number))
    life.close_due(10)
    life._config = ConversationsConfig(remember=1)
    life.restart(100)
    assert {restore(record).key for kind, record in life.records() if kind == RecordKind.RUN} == {key(2)}


@pytest.mark.parametrize(
    "record",
    [b"", b"{}", b"[]", b'{"key": ["a"], "revision": 0, "truncated": 0, "is_over": 0}', b'{"key": [1, 2, "x"]}'],
)
def test_a_damaged_state_is_refused(record: bytes) -> None:
    with pytest.raises(ValueError, match=r"damaged|Expecting"):
        read_conversation(record)
