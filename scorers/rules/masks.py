"""Tells what was put in the place of a value, or of a part of it, before it was recorded: it says nothing of the value.

Known are the masks that collectors, SDKs and frameworks write: ``****`` (the redaction processor of the OpenTelemetry
Collector), ``__REDACTED__`` (OpenInference), ``[Scrubbed due to 'password']`` (Logfire), ``[Filtered]`` (Sentry), and
``[redacted]``, ``<masked>`` or ``...[truncated]`` in any spelling. A placeholder such as ``<EMAIL>`` is none: agents pass
such texts to tools by mistake, and rules are there to find that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from scorers.work import Work

_MASK: Final = re.compile(
    r"\*{4,}|^\*{3}$|(?:\[|<|__)(?:redacted|masked|filtered|scrubbed|truncated)(?![a-z])[^\[\]<>]{0,100}?(?:\]|>|__)",
    re.IGNORECASE,
)
_MAX_VALUES: Final = 1_000  # that are looked at
_MAX_CHARS: Final = 20_000  # of each text
_BEGINNINGS: Final = ("[", "<", "__", "***")  # of every mask: nearly all texts have none, which is quickly seen
_CHARS_PER_UNIT: Final = 256  # that are searched for these
_MATCHED_PER_UNIT: Final = 2


def is_masked(value: Any, work: Work) -> bool:
    """Whether a text in the value, at any depth, is a mask or has one in it. Raises WorkLimitError."""
    waiting, looked_at = [value], 0
    while waiting and looked_at < _MAX_VALUES:
        one = waiting.pop()
        looked_at += 1
        if isinstance(one, str):
            text = one[:_MAX_CHARS]
            work.spend(1 + len(text) // _CHARS_PER_UNIT, "masks in arguments")
            if any(beginning in text for beginning in _BEGINNINGS):
                work.spend(len(text) // _MATCHED_PER_UNIT, "masks in arguments")
                if _MASK.search(text):
                    return True
        elif isinstance(one, Mapping | list | tuple):
            # No more than will be looked at: the value may have a million.
            below = one.values() if isinstance(one, Mapping) else one
            room = _MAX_VALUES - looked_at - len(waiting)
            waiting.extend(item for _, item in zip(range(room), below, strict=False))
    return False
