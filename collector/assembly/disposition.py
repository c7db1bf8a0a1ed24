"""What becomes of spans that are added to traces."""

from __future__ import annotations

from enum import Enum, auto


class Disposition(Enum):
    """What becomes of a span that was added."""

    FORWARD = auto()
    HELD = auto()
    LATE = auto()
    """Forward it; its run already has a verdict, which may be revised."""
    DUPLICATE = auto()
    """Drop it: it is held, or was exported."""
    REPLACED = auto()
    """It is held in place of a copy that was not complete, which is dropped."""
    LEFT_OUT = auto()
    """Forward it; its trace has ``max_spans`` already."""
