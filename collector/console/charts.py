"""The geometry of charts: coordinates for SVG, which templates draw. Nothing here knows what a line means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from collector.console.statistics import Share, accuracy
from collector.runs.queries import Counted

MAX_BARS: Final = 200
"""Calls on a time axis."""


class Slot(NamedTuple):
    """What happened in one step of time, as parts of the height; None where there is no accuracy."""

    x: float
    width: float
    volume: float
    wrong: float
    share: Share | None
    counted: Counted
    at: float


@dataclass(frozen=True, slots=True)
class Series:
    """Accuracy over time. Coordinates go from 0 to ``width`` and, downwards, from 0 to ``height``."""

    slots: Sequence[Slot]
    width: float
    height: float

    @property
    def line(self) -> str:
        """The accuracy as a path with gaps where nothing was scored."""
        parts, pen = [], "M"
        for slot in self.slots:
            if slot.share is None:
                pen = "M"
                continue
            parts.append(f"{pen}{self._middle(slot):.1f} {self._y(slot.share.value):.1f}")
            pen = "L"
        return " ".join(parts)

    @property
    def bands(self) -> Sequence[str]:
        """The interval around it, a polygon for each stretch without a gap."""
        return [self._band(stretch) for stretch in self._stretches() if len(stretch) > 1]

    @property
    def dots(self) -> Sequence[tuple[float, float]]:
        """The centres of slots with no neighbour, of which a line would show nothing."""
        alone = (stretch[0] for stretch in self._stretches() if len(stretch) == 1)
        return [(round(self._middle(slot), 1), round(self._y(slot.share.value), 1)) for slot in alone if slot.share]

    def y(self, value: float) -> float:
        """Where an accuracy is, such as that of an objective."""
        return round(self._y(value), 1)

    def _band(self, stretch: Sequence[Slot]) -> str:
        above = [f"{self._middle(slot):.1f},{self._y(slot.share.high):.1f}" for slot in stretch if slot.share]
        below = [f"{self._middle(slot):.1f},{self._y(slot.share.low):.1f}" for slot in reversed(stretch) if slot.share]
        return " ".join([*above, *below])

    def _stretches(self) -> Sequence[Sequence[Slot]]:
        stretches: list[list[Slot]] = [[]]
        for slot in self.slots:
            if slot.share is None:
                stretches.append([])
            else:
                stretches[-1].append(slot)
        return [stretch for stretch in stretches if stretch]

    def _middle(self, slot: Slot) -> float:
        return slot.x + slot.width / 2

    def _y(self, value: float) -> float:
        return 2 + (1 - value) * (self.height - 4)


def series(
    counted: Mapping[int, Counted], since: float, until: float, step: int, width: float = 600, height: float = 120
) -> Series:
    """Returns accuracy and volume from ``since`` to ``until`` in steps of so many seconds."""
    first = int(since) // step * step
    times = range(first, int(until) + 1, step)
    most = max([counted.get(at, Counted()).total for at in times], default=0) or 1
    slot_width, slots = width / max(1, len(times)), []
    for number, at in enumerate(times):
        here = counted.get(at, Counted())
        slots.append(
            Slot(
                round(number * slot_width, 2), round(slot_width, 2), here.total / most, here.failed / most, accuracy(here),
                here, at,
            )
        )  # fmt: skip
    return Series(slots, width, height)


class Bar(NamedTuple):
    """A call on the time axis, in percent of its width; ``lane`` is the row in which it overlaps nothing."""

    call: Mapping[str, Any]
    lane: int
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Lanes:
    """Calls on a time axis: those that ran at once are in different lanes."""

    bars: Sequence[Bar]
    count: int
    length_ns: int
    left_out: int


def lanes(calls: Sequence[Mapping[str, Any]]) -> Lanes:
    """Returns the calls whose times are known on an axis from the first start to the last end."""
    timed = [call for call in calls if call["start_ns"]]
    shown = sorted(timed, key=lambda call: (call["start_ns"], call["step"]))[:MAX_BARS]
    begin = min((call["start_ns"] for call in shown), default=0)
    length = max((max(call["end_ns"], call["start_ns"]) for call in shown), default=0) - begin
    free_at: list[int] = []
    bars = []
    for call in shown:
        start, end = call["start_ns"], max(call["end_ns"], call["start_ns"])
        lane = next((number for number, free in enumerate(free_at) if free <= start), len(free_at))
        if lane == len(free_at):
            free_at.append(0)
        free_at[lane] = end
        place, long = (start - begin) / max(1, length) * 100, (end - start) / max(1, length) * 100
        # Of some width at least: a call of no length would not be seen.
        bars.append(Bar(call, lane, round(place, 2), round(max(long, 0.4), 2)))
    return Lanes(bars, len(free_at), length, len(calls) - len(shown))
