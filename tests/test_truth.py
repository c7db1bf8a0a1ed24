"""Recorded runs that lost evidence: no confident verdict is wrong where the rest of the trace tells of what is missing.

A sample of ``python -m tests.truth``, which tries every change of every recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests import recorded
from tests.truth.changes import FAMILIES, Change
from tests.truth.processors import FAMILIES as PROCESSORS
from tests.truth.recording import Recording, load
from tests.truth.trial import Result, is_told, try_changes
from tests.truth.vocabularies import rewritten

SAMPLE = (
    "js-ai6-seq", "js-openai-otel-parallel", "py-google-adk-native-fail", "py-langgraph-official-multi",
    "py-openai-agents-official-stream-multi", "py-openai-sdk-official-chat-fail", "py-pydantic-ai-native-v5-multi",
    "py-strands-native-fail",
)  # fmt: skip
HOOKED = ("py-google-adk-native-fail", "py-langgraph-official-multi", "py-strands-native-fail")
"""Of agents whose callbacks, middleware or hooks may answer in place of a tool, which then leaves no span either."""

ASKED_LAST = (
    "py-openai-agents-official-stream-multi", "py-openai-sdk-official-chat-fail", "py-strands-native-fail",
)  # fmt: skip
"""Where all that followed an answer was lost, nothing tells whether the run went on: their agents record no answer of their
own, or the calls that were asked for last are known, and only the request that followed is missing."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("recordings")
    recorded.unpack(folder)
    return [result for name in SAMPLE for result in _try(folder / name)]


def _try(folder: Path) -> list[Result]:
    item = load(folder)
    return try_changes(item, list(_changes(item)))


def _changes(item: Recording) -> Iterator[Change]:
    for name, family in {**FAMILIES, **PROCESSORS}.items():
        # Of the many attributes every fifth: which ones, differs from recording to recording.
        yield from islice(family(item), 0, None, 5 if name == "keys" else 1)


@pytest.mark.parametrize(
    "family",
    [
        "late",
        "slow",
        "loss",
        "batch",
        "repeated",
        "scope",
        "skew",
        "times",
        "content",
        "limit",
        "filter",
        "converted",
        "key",
    ],
)
def test_no_confident_verdict_is_wrong(results: list[Result], family: str) -> None:
    left_out = ASKED_LAST if family == "batch" else ()
    tried = [one for one in results if one.change.family.startswith(family) and one.recording.name not in left_out]
    wrong = [result for result in tried if result.worth == "wrong" and is_told(result)]
    assert tried
    assert [(one.recording.name, one.change.label, one.rule, one.explanation) for one in wrong] == []


def test_certainty_is_not_bought_with_silence(results: list[Result]) -> None:
    untouched = [result for result in results if result.change.family == "repeated"]
    assert {result.worth for result in untouched} == {"right"}
    slow = [result for result in results if result.change.family == "slow: pauses shorter than idle_timeout"]
    assert {result.worth for result in slow} == {"right"}
    lost = [result for result in results if result.change.family == "loss: one tool span"]
    told = [result for result in lost if result.recording.name not in HOOKED]
    assert sum(result.worth == "right" for result in told) >= 0.8 * len(told) > 0
    # What a model was told of a call without a span may be the words of a hook: what does not depend on it is decided.
    hooked = [result for result in lost if result.recording.name in HOOKED]
    assert sum(result.worth == "right" for result in hooked) >= 0.3 * len(hooked) > 0


def test_a_fail_that_a_late_span_heals_is_never_given(results: list[Result]) -> None:
    late = [result for result in results if result.change.family.startswith("late") and result.truth == "pass"]
    assert late
    assert [result.change.label for result in late if result.worth == "wrong"] == []


def test_words_that_nobody_has_seen_get_no_wrong_verdict(tmp_path: Path) -> None:
    """Half of the sample says the same in private words that are read, and is decided in some of them."""
    recorded.unpack(tmp_path)
    tried = [one for name in SAMPLE[::2] for one in _rewritten(tmp_path / name)]
    assert [(one.recording.name, one.change.family, one.rule) for one in tried if one.worth == "wrong"] == []
    assert any(one.worth == "right" for one in tried if one.change.family == "words: prefixes")


def _rewritten(folder: Path) -> list[Result]:
    item = load(folder)
    return try_changes(item, list(rewritten(item)))
