"""Why a trace is due, and what the verdicts on it name as the reason of release."""

from __future__ import annotations

from enum import Enum, auto


class Due(Enum):
    """Why a trace is due."""

    SETTLED = auto()
    """Quiet for ``settle``: release it if it is complete and passes, else call ``wait``."""
    CONFIRMED = auto()
    """Quiet for ``confirm`` since: release it, whatever its verdict."""
    IDLE = auto()
    MAX_DURATION = auto()

    @property
    def release(self) -> str:
        """The reason of release, as verdicts and metrics name it."""
        return "root" if self in (Due.SETTLED, Due.CONFIRMED) else self.name.lower()
