"""When a conversation is over, and what its limits do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.assembly.conversations import Added, Conversation, ConversationKey, ConversationRun, Conversations
from collector.assembly.gaps import Gaps
from collector.clock import Clock
from collector.config.model import ConversationsConfig

KEY = ConversationKey(None, "shop", "c-1")


def run(
    number: int, key: ConversationKey = KEY, calls: int = 1, size: int = 10, complete: bool = True, at: float = 0
) -> ConversationRun:
    return ConversationRun(key, number.to_bytes(24, "big"), calls, complete, bytes(size), int(at * 1e9))


OVERHEAD = ConversationRun(ConversationKey(None, None, ""), b"", 0, True, b"", 0).size


def key(number: int) -> ConversationKey:
    return ConversationKey(None, "shop", f"c-{number}")


def conversations(max_bytes: int = 64 << 20, **config: Any) -> Conversations:
    settings = ConversationsConfig.model_validate({"idle_timeout": 10, "max_duration": 60, **config})
    return Conversations(settings, max_bytes, Gaps(Clock(wall_ns=lambda: 0), 60.0))


def close_due(table: Conversations, now: float) -> list[tuple[Conversation, str]]:
    found = []
    for conversation, release in table.due(now):
        found.append((conversation, release))
        table.close(conversation, release)
    return found


def test_a_conversation_is_over_when_it_was_quiet_for_idle_timeout() -> None:
    table = conversations()
    table.add(run(1), 0)
    table.add(run(2), 8)
    assert close_due(table, 17.9) == []
    assert table.next_deadline() == 18
    ((conversation, release),) = close_due(table, 18)
    assert (list(conversation.runs), release, conversation.complete(release)) == (
        [run(1).anchor, run(2).anchor],
        "idle",
        True,
    )
    assert (len(table), table.next_deadline()) == (0, None)


def test_one_that_never_rests_ends_at_max_duration_and_is_incomplete() -> None:
    table = conversations()
    for second in range(0, 60, 5):
        table.add(run(second), second)
        assert close_due(table, second) == []
    ((conversation, release),) = close_due(table, 60)
    assert (release, conversation.complete(release)) == ("max_duration", False)


def test_a_run_after_the_verdict_opens_it_again_for_a_further_revision() -> None:
    table = conversations()
    table.add(run(1), 0)
    assert [conversation.revision for conversation, _ in close_due(table, 10)] == [1]
    table.add(run(2), 100)
    assert len(table) == 1
    ((conversation, _),) = table.due(110)
    assert (conversation.revision, len(conversation.runs)) == (1, 2)


def test_a_run_gathered_again_takes_its_own_place() -> None:
    table = conversations(max_calls=3)
    table.add(run(1, calls=2), 0)
    table.add(run(1, calls=3), 1)
    ((conversation, release),) = close_due(table, 20)
    assert (conversation.calls, len(conversation.runs), conversation.complete(release)) == (3, 1, True)


def test_a_run_takes_the_place_of_its_parts() -> None:
    table = conversations(max_runs=2, max_calls=5, max_bytes=(1 << 20) + OVERHEAD)
    for number in (1, 2):
        table.add(run(number, calls=2, size=512 << 10), 0)
    whole = replace(run(3, calls=5, size=1 << 20), parts=(run(1).anchor, run(2).anchor, run(9).anchor))
    conversation, added = table.add(whole, 1)
    assert (added, list(conversation.runs), conversation.calls) == (Added.STORED, [whole.anchor], 5)
    assert table.over_limit() is None
    assert table.used_bytes == conversation.size


def test_a_run_that_belongs_elsewhere_leaves_what_it_was_in() -> None:
    table = conversations()
    for number in (1, 2, 3):
        table.add(run(number, key(1)), 0)
    assert [one.revision for one, _ in close_due(table, 10)] == [1]
    moved = replace(run(2, key(2)), parts=(run(3).anchor, run(9).anchor))
    left = table.leave(moved, 11)
    assert [(one.key, anchor) for one, anchor in left] == [(key(1), run(2).anchor), (key(1), run(3).anchor)]
    table.add(moved, 11)
    assert table.leave(moved, 11) == []
    found = {one.key: (list(one.runs), one.calls, one.revision) for one in table.open()}
    assert found == {key(1): ([run(1).anchor], 1, 1), key(2): ([moved.anchor], 1, 0)}
    assert table.used_bytes == 2 * run(1).size


@pytest.mark.parametrize("had_verdict", [False, True])
def test_a_conversation_that_its_last_run_leaves_is_not_remembered(had_verdict: bool) -> None:
    table = conversations()
    table.add(run(1, key(1)), 0)
    if had_verdict:
        close_due(table, 10)
    ((conversation, _),) = table.leave(run(1, key(2)), 11)
    assert (conversation.key, conversation.runs, len(table), table.used_bytes) == (key(1), {}, 0, 0)
    again, _ = table.add(run(2, key(1)), 12)
    assert (again.revision, again.truncated) == (int(had_verdict), had_verdict)


def test_nothing_is_known_of_runs_that_are_not_remembered() -> None:
    table = conversations(remember=0)
    table.add(run(1, key(1)), 0)
    table.add(run(2, key(2)), 0)
    close_due(table, 10)
    table.add(run(3, key(3)), 11)
    table.take_runs()
    assert [table.leave(run(number, key(9)), 12) for number in (1, 2, 3)] == [[], [], []]


def test_a_run_collected_again_takes_its_bytes_once() -> None:
    table = conversations(max_bytes=(1 << 20) + 2 * OVERHEAD)
    for second in range(5):
        table.add(run(1, size=512 << 10), second)
    table.add(run(2, size=512 << 10), 5)
    assert table.over_limit() is None
    conversation, _ = table.add(run(3, size=1), 6)
    assert table.over_limit() is conversation


@pytest.mark.parametrize("limit", [{"max_runs": 2}, {"max_calls": 5}])
def test_runs_beyond_a_limit_stay_out_and_make_it_incomplete(limit: dict[str, int]) -> None:
    table = conversations(**dict[str, Any](limit))
    added = [table.add(run(number, calls=2), 0)[1] for number in range(4)]
    assert added == [Added.STORED, Added.STORED, Added.TRUNCATED, Added.LEFT_OUT]
    ((conversation, release),) = close_due(table, 10)
    assert (len(conversation.runs), conversation.complete(release)) == (2, False)


@pytest.mark.parametrize("is_over", [False, True])
def test_where_the_first_run_comes_late_the_last_makes_room_for_it(is_over: bool) -> None:
    table = conversations(max_runs=2)
    for number, at in [(1, 20), (2, 30), (3, 40)]:
        table.add(run(number, at=at), 0)
    if is_over:
        close_due(table, 10)
    assert table.leave(run(4, at=20), 11) == [], "it is not the first"
    first = run(5, at=10, calls=2)
    ((conversation, anchor),) = table.leave(first, 11)
    assert (anchor, table.add(first, 11)[1]) == (run(2).anchor, Added.STORED)
    assert (list(conversation.runs), conversation.calls) == ([run(1).anchor, first.anchor], 3)
    assert (conversation.truncated, conversation.revision, conversation.is_over) == (True, int(is_over), False)
    assert table.used_bytes == conversation.size
    assert len(table.leave(run(6, key(2), at=5), 12)) == 0, "another conversation has room"


@pytest.mark.parametrize(
    ("begins", "expected"),
    [
        pytest.param([1000 - 61], False, id="a recording"),
        pytest.param([1000 - 60], True, id="it may have begun before"),
        pytest.param([1009.9], True, id="it may go on"),
        pytest.param([1010], False, id="any that had begun before was over"),
        pytest.param([1020, 1005], True, id="its first run came last"),
    ],
)
def test_one_may_have_begun_before_runs_were_collected(begins: list[float], expected: bool) -> None:
    table = conversations()
    for number, at in enumerate(begins):
        conversation, _ = table.add(run(number, at=at), number)
    assert not table.may_lack_runs(conversation), "of recordings all is there"
    table.collected_from = int(1000e9)
    assert table.may_lack_runs(conversation) is expected


def test_one_that_begins_while_another_instance_leaves_may_have_begun_there() -> None:
    table = conversations(idle_timeout=100, max_duration=3600)
    table.add(run(1, key(1)), 0)
    table.add(run(2, key(2)), 190)
    close_due(table, 195)
    table.add(run(3, key(1)), 198)  # a further run of one that had its verdict here
    table.note_handover(200)
    table.add(run(4, key(4)), 200)
    table.note_handover(200.5)  # with further spans of the same
    table.add(run(5, key(2)), 201)
    table.add(run(6, key(6)), 299.9)
    table.add(run(7, key(7)), 300.1)
    lacking = {conversation.key.conversation_id for conversation in table.open() if conversation.truncated}
    assert lacking == {"c-2", "c-4", "c-6"}


def test_one_may_go_on_that_was_evicted_and_forgotten_a_while_ago() -> None:
    now = 0.0
    table = Conversations(
        ConversationsConfig(idle_timeout=10, max_open=1, remember=0),
        1 << 20,
        Gaps(Clock(wall_ns=lambda: int(now * 1e9)), 60.0),
    )
    table.collected_from = 0
    lacking = []
    for number in range(40):
        now = 100.0 + number / 2
        conversation, _ = table.add(run(number, key(number), at=now), now)
        lacking.append(table.may_lack_runs(conversation))
        if (evicted := table.over_limit()) is not None:
            table.close(evicted, "evicted")
    # Ten are known at least: those from before the eleventh of them are forgotten with the twenty-second.
    assert lacking.index(True) == 23
    now = 200.0
    assert not table.may_lack_runs(table.add(run(99, key(99), at=now), now)[0])


def test_an_incomplete_run_makes_it_incomplete() -> None:
    table = conversations()
    table.add(run(1), 0)
    table.add(run(2, complete=False), 0)
    ((conversation, release),) = close_due(table, 10)
    assert conversation.complete(release) is False


def test_the_one_quiet_longest_goes_first_when_there_are_too_many() -> None:
    table = conversations(max_open=2)
    for at, number in enumerate((1, 2, 1, 3)):
        table.add(run(at, key(number)), at)
    evicted = table.over_limit()
    assert evicted is not None
    assert (evicted.key, evicted.complete("evicted")) == (key(2), False)
    table.close(evicted, "evicted")
    assert (table.over_limit(), len(table)) == (None, 2)
    again, _ = table.add(run(9, key(2)), 4)
    assert again.runs.keys() == {run(9).anchor}, "an evicted one begins anew"
    assert (again.truncated, again.revision) == (True, 1), "but is known to have begun"


def test_what_is_only_remembered_goes_before_what_is_open_when_bytes_are_short() -> None:
    table = conversations(max_bytes=1 << 20)
    table.add(run(1, key(1), size=600 << 10), 0)
    close_due(table, 10)
    table.add(run(2, key(2), size=600 << 10), 11)
    assert [conversation.key for conversation in table.evict_remembered()] == [key(1)]
    assert table.over_limit() is None
    table.add(run(3, key(1)), 12)
    assert [(conversation.revision, conversation.truncated) for conversation in table.open()] == [(0, False), (1, True)]
    table.add(run(4, key(3), size=600 << 10), 13)
    evicted = table.over_limit()
    assert evicted is not None
    assert evicted.key == key(2)


def test_no_more_are_remembered_than_asked_for() -> None:
    table = conversations(remember=1)
    for number in (1, 2):
        table.add(run(number, key(number)), 0)
    due = [conversation for conversation, _ in table.due(10)]
    assert [[evicted.key for evicted in table.close(each, "idle")] for each in due] == [[], [key(1)]]
    for number in (1, 2):
        table.add(run(10 + number, key(number)), 11)
    found = [(c.key, c.revision, c.truncated) for c in table.open()]
    assert found == [(key(1), 1, True), (key(2), 1, False)], (
        "of the one forgotten the verdict is revised, by a part of it"
    )


def test_a_postponed_one_is_due_again() -> None:
    table = conversations()
    table.add(run(1), 0)
    for conversation, _ in table.due(10):
        table.postpone(conversation, 10.5)
    assert list(table.due(10.4)) == []
    assert [release for _, release in close_due(table, 10.5)] == ["idle"]


def test_conversations_of_tenants_and_of_none_may_be_due_at_the_same_instant() -> None:
    table = conversations()
    for number, tenant in enumerate((None, "blue", None, "red")):
        table.add(
            run(number, ConversationKey(tenant, None if tenant else "shop", "c-1" if tenant else f"c-{number}")), 0
        )
    assert len(close_due(table, 10)) == 4


def test_nothing_is_remembered_where_nothing_is_asked_for() -> None:
    table = conversations(remember=0)
    conversation, _ = table.add(run(1), 0)
    assert table.close(conversation, "idle") == [conversation]


def test_an_evicted_conversation_is_not_remembered() -> None:
    table = conversations()
    conversation, _ = table.add(run(1), 0)
    assert table.close(conversation, "evicted") == [conversation]
    assert table.add(run(2), 1)[0].runs.keys() == {run(2).anchor}


def test_only_as_many_bytes_are_freed_as_are_short() -> None:
    table = conversations(max_bytes=(1 << 20) + 3 * OVERHEAD)
    for number, kib in ((1, 512), (2, 256)):
        table.add(run(number, key(number), size=kib << 10), number)
        close_due(table, number + 10)
    table.add(run(3, key(3), size=512 << 10), 20)
    assert [conversation.key for conversation in table.evict_remembered()] == [key(1)]
    table.add(run(4, key(4), size=256 << 10), 20)
    assert (table.evict_remembered(), table.over_limit()) == ([], None), "all of it may be used"
    table.add(run(5, key(5), size=1), 20)
    assert [conversation.key for conversation in table.evict_remembered()] == [key(2)]
    table.add(run(6, key(6), size=256 << 10), 20)
    assert table.evict_remembered() == []
    over = table.over_limit()
    assert over is not None
    assert over.key == key(3)
