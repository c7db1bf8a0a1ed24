"""The memory of the process as one budget: which part of it each bounded structure may take.

``memory_limiter.limit_mib`` is the whole. The shares add up to the soft limit, above which the memory limiter refuses
requests; the rest is for what one request, one scrape or one score takes while it is worked on. Structures count bytes as
they were received, with an allowance for the objects made of them: what they take is close to that, not equal to it, so the
memory limiter watches the resident memory as well.

Open traces may also take half of what all but requests leave of their shares: one that is evicted may get no verdict, and
while the backend keeps up nearly nothing waits to be sent. The other half is for requests after all: freed memory is often
still resident when large ones come, and with 512 MiB these were refused.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from collector.config.model import Config


class Share(NamedTuple):
    """A part of the budget: percent of ``limit_mib``, and ``at_most`` so many MiB, or what the setting of that name says."""

    percent: int
    at_most: int | str
    holds: str


SHARES: Final = {
    "requests": Share(20, 512, "requests being received or taken in: as sent, decompressed, and converted from JSON"),
    "open_traces": Share(15, "traces.max_held_mib", "open traces, and results that wait for a judge"),
    "sending_queue": Share(
        8, "exporters.otlp.sending_queue.max_size_mib", "requests that wait to be sent, by all exporters"
    ),
    "finished_traces": Share(8, 64, "what is remembered of finished traces, to revise verdicts and drop duplicates"),
    "unclaimed_traces": Share(4, 64, "parent links and roots of traces in which no agent has shown up yet"),
    "conversations": Share(3, "conversations.max_held_mib", "open and remembered conversations"),
    "judging": Share(2, 64, "runs that wait for the judge"),
}
"""By structure. What is not listed here is the process itself with its rules, its metrics and caches of a fixed size."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """How many bytes each structure of `SHARES` may take; the defaults are those of a machine with plenty of memory.

    Open traces may always take ``open_traces``, and ``open_traces_most`` where nobody else needs it.
    """

    requests: int = 512 << 20
    open_traces: int = 512 << 20
    open_traces_most: int = 512 << 20
    sending_queue: int = 256 << 20
    finished_traces: int = 64 << 20
    unclaimed_traces: int = 64 << 20
    conversations: int = 64 << 20
    judging: int = 64 << 20

    def spare(self, taken: int) -> int:
        """Returns how many bytes open traces may take beyond their share while the others but requests take ``taken``."""
        others = self.sending_queue + self.finished_traces + self.unclaimed_traces + self.conversations + self.judging
        return max(0, min((others - taken) // 2, self.open_traces_most - self.open_traces))

    def shown(self) -> dict[str, int]:
        """The same in MiB, for people."""
        return {field.name: getattr(self, field.name) >> 20 for field in fields(self)}


def memory_budget(config: Config) -> MemoryBudget:
    """Returns the budget of a process with this configuration."""
    settings = {
        "traces.max_held_mib": config.traces.max_held_mib,
        "exporters.otlp.sending_queue.max_size_mib": sum(config.exporters.queues_mib()),
        "conversations.max_held_mib": config.conversations.max_held_mib,
    }

    def size(share: Share) -> int:
        at_most = settings[share.at_most] if isinstance(share.at_most, str) else share.at_most
        # The smaller of the two: a setting must not promise memory that the process does not have.
        return min((config.memory_limiter.limit_mib << 20) * share.percent // 100, at_most << 20)

    sizes = {name: size(share) for name, share in SHARES.items()}
    others = sum(sizes.values()) - sizes["requests"] - sizes["open_traces"]
    most = sizes["open_traces"] + others // 2
    return MemoryBudget(**sizes, open_traces_most=min(most, config.traces.max_held_mib << 20))
