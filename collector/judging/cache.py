"""An LRU cache of answers, bounded in entries and bytes."""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256

from collector.config.judge import CacheConfig
from scorers.judged.judge import JudgeRequest

ENTRY_OVERHEAD = 200
"""Bytes that an entry counts beyond those of its answer."""


def digest(identity: str, request: JudgeRequest) -> bytes:
    """Returns the cache key of a question to a model."""
    parts = [identity, request.system, request.user, request.schema]
    return sha256(json.dumps(parts, sort_keys=True).encode()).digest()


class Cache:
    """Usable answers by `digest`."""

    def __init__(self, config: CacheConfig) -> None:
        self._max_entries, self._max_bytes = config.max_entries, config.max_size_mib << 20
        self._answers: OrderedDict[bytes, str] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: bytes) -> str | None:
        """Returns the cached answer, None if there is none."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: bytes, answer: str) -> None:
        """Cache an answer; evict the least recently used ones as the limits require."""
        self._remove(key)
        self._answers[key] = answer
        self.bytes += _size(answer)
        while len(self._answers) > self._max_entries or self.bytes > self._max_bytes:
            self._remove(next(iter(self._answers)))

    def _remove(self, key: bytes) -> None:
        if (answer := self._answers.pop(key, None)) is not None:
            self.bytes -= _size(answer)


def _size(answer: str) -> int:
    return len(answer.encode("utf-8", "surrogatepass")) + ENTRY_OVERHEAD
