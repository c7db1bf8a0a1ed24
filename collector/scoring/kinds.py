"""Verdicts of one kind: they differ in ids, times and arguments only, so that what is made of them is made once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from collector.byte_cache import ByteCache
from collector.reconstruction.run import Run
from scorers import Evaluation

MAX_KINDS_BYTES: Final = 8 << 20
"""How much memory the kinds that are kept may take."""
_RESULTS: Final = 8_000  # bytes that encoded results take, beside the texts they quote


class Kind:
    """What verdicts have in common. What is made of it is kept here by whoever makes it."""

    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        self.evaluations = evaluations  # held, so that no other object can take its identity
        self.annotations: Any = None
        """For the spans: of the anchor, and of each call."""
        self.events: Any = None
        """The encoded attributes of the events, but for those that each event has alone."""


_kinds: ByteCache[Hashable, Kind] = ByteCache(MAX_KINDS_BYTES)


def kind_of(
    run: Run, evaluations: Sequence[Evaluation], rule: str | None, release: str, scope: str, doubts: tuple[str, ...]
) -> Kind | None:
    """Returns the kind of a first verdict; None if its results have to be made for it alone.

    The key holds all that results are made of but ids, times and attributes of the run. Whether a run is complete follows
    from its doubts.
    """
    if type(evaluations) is not tuple or not evaluations:  # only what cannot change stands for itself
        return None
    names, unseen = [], []
    for call in run.trajectory.calls:
        names.append(call.name)
        if call.known_by != "span" and call.executed:
            unseen.append(call.name)
    found = run.found_intent
    key = (
        id(evaluations), tuple(names), tuple(unseen), run.route, run.intent, run.agent, run.service, rule, release, scope,
        doubts, None if found is None else (found.by, found.reason),
    )  # fmt: skip
    known = _kinds.get(key)
    if known is None:
        return _kinds.keep(key, Kind(evaluations), _RESULTS + 4 * len(repr(key)))
    return known
