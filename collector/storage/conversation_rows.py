"""What the spool holds of conversations: a record for each run, and one that says whether it has its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from collector.assembly.conversations import Added, Conversation, ConversationKey, ConversationRun
from collector.storage.records import RecordKind, write_conversation, write_time
from collector.storage.spool import Spool

_STATE = b""  # in place of an anchor: the record of the conversation itself


class ConversationRows:
    """The rows of conversations, changed by ``commit``: with the end of the traces that the runs come from.

    So a crash between the two loses none.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._rows: dict[ConversationKey, dict[bytes, int]] = {}  # by anchor
        self._changes: list[Callable[[], None]] = []
        self._collecting: list[int] = []  # rows that say since when their runs are collected: one or none

    def add_run(self, conversation: Conversation, run: ConversationRun, added: Added) -> None:
        """Record what became of a run."""
        if added is Added.STORED or added is Added.CUT:
            self._changes.append(partial(self._replace, run.key, run.anchor, RecordKind.RUN, run.record))
            self._changes += [partial(self._remove, run.key, part) for part in run.parts]
            # Of one that was forgotten before, this tells after a restart.
            if added is Added.CUT or (conversation.truncated and len(conversation.runs) == 1):
                self._store_state(conversation)
        elif added is Added.TRUNCATED:
            self._store_state(conversation)

    def remove_runs(self, left: Iterable[tuple[Conversation, bytes]]) -> None:
        """Record that these runs, by anchor, are not in these conversations any more."""
        for conversation, anchor in left:
            if conversation.runs:
                self._changes.append(partial(self._remove, conversation.key, anchor))
                self._store_state(conversation)  # it may have been over
            else:
                self.evict([conversation])

    def close(self, conversation: Conversation, evicted: Sequence[Conversation]) -> None:
        """Record that a conversation has its verdict, and that others are not remembered any more."""
        if conversation not in evicted:
            self._store_state(conversation)
        self.evict(evicted)

    def evict(self, evicted: Iterable[Conversation]) -> None:
        """Delete the records of these conversations."""
        self._changes += [partial(self._delete, conversation.key) for conversation in evicted]

    def commit(self) -> None:
        """Write what was recorded since."""
        changes, self._changes = self._changes, []
        for change in changes:
            change()

    def record_collecting(self, since_ns: int | None) -> None:
        """Record since when all runs are collected, at once; None if none are."""
        self._spool.delete("inbox", self._collecting)
        self._collecting.clear()
        if since_ns is not None:
            self._collecting.append(self._spool.store(RecordKind.COLLECTED_FROM, write_time(since_ns)))

    def _store_state(self, conversation: Conversation) -> None:
        record = write_conversation(conversation)
        self._changes.append(partial(self._replace, conversation.key, _STATE, RecordKind.CONVERSATION, record))

    def _replace(self, key: ConversationKey, anchor: bytes, kind: RecordKind, record: bytes) -> None:
        self._hold(key, anchor, self._spool.store(kind, record))

    def _hold(self, key: ConversationKey, anchor: bytes, row: int) -> None:
        self._remove(key, anchor)
        self._rows.setdefault(key, {})[anchor] = row

    def _remove(self, key: ConversationKey, anchor: bytes) -> None:
        if (row := self._rows.get(key, {}).pop(anchor, None)) is not None:
            self._spool.delete("inbox", [row])

    def _delete(self, key: ConversationKey) -> None:
        self._spool.delete("inbox", self._rows.pop(key, {}).values())

    # ---- after a restart

    def restored_run(self, run: ConversationRun, row: int) -> None:
        """Take over the record of a run of a conversation."""
        self._hold(run.key, run.anchor, row)

    def restored_state(self, key: ConversationKey, row: int, evicted: Iterable[Conversation]) -> None:
        """Take over the record of a conversation; ``evicted`` are those not remembered any more because of it."""
        self._hold(key, _STATE, row)
        for conversation in evicted:
            self._delete(conversation.key)

    def restored_collecting(self, row: int) -> None:
        """Take over the record of since when runs are collected."""
        self._collecting.append(row)
