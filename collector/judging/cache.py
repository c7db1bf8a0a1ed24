"""Answers by what was asked, bounded in number and bytes; what was not used for longest goes first."""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256

from collector.config.judge import CacheConfig
from scorers.judged.judge import JudgeRequest

_OVERHEAD = 200  # bytes of an entry beyond its text


def digest(identity: str, request: JudgeRequest) -> bytes:
    """The same for the same question to the same model, and for no other."""
    parts = [identity, request.system, request.user, request.schema]
    return sha256(json.dumps(parts, sort_keys=True).encode()).digest()


class Cache:
    """Answers that were usable."""

    def __init__(self, config: CacheConfig) -> None:
        self._max_entries, self._max_bytes = config.max_entries, config.max_size_mib << 20
        self._answers: OrderedDict[bytes, str] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: bytes) -> str | None:
        """The answer, where it is kept."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: bytes, answer: str) -> None:
        """Keep an answer."""
        self._forget(key)
        self._answers[key] = answer
        self.bytes += _size(answer)
        while len(self._answers) > self._max_entries or self.bytes > self._max_bytes:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: bytes) -> None:
        if (answer := self._answers.pop(key, None)) is not None:
            self.bytes -= _size(answer)


def _size(answer: str) -> int:
    return len(answer.encode("utf-8", "surrogatepass")) + _OVERHEAD
