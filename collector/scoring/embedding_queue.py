"""Texts embedded ahead of their use, in a thread: the event loop goes on meanwhile, for numpy lets go of the interpreter.

A trace whose verdict needs a text not known yet is looked at again when it should be known. Where more texts wait than the
queue takes, they are embedded where they are used, as without a queue: that holds up everything, and so slows the senders.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from collector.scoring.embeddings import CACHED_TEXTS, Embeddings

MAX_WAITING = 256
_MAX_TEXTS = CACHED_TEXTS // 2  # of one trace: all of them must be remembered at once
_SECONDS = 0.01  # about what one takes

_log = logging.getLogger(__name__)


class EmbeddingQueue:
    """A component. ``ahead`` is called by the event loop alone."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._waiting: set[str] = set()
        self._worker = ThreadPoolExecutor(1, "embeddings")
        self._failed = False

    async def start(self) -> None:
        """Nothing to do: the thread starts with the first text."""

    async def shutdown(self) -> None:
        """Give up what waits and end the thread."""
        self._worker.shutdown(cancel_futures=True)

    def ahead(self, texts: Iterable[str]) -> float:
        """See to it that these texts are known; says in how many seconds to ask again, 0 to go on now."""
        unknown = {text for text in islice(texts, _MAX_TEXTS) if not self._embeddings.knows(text)}
        if not unknown or self._failed:
            return 0.0
        new = unknown - self._waiting
        if len(self._waiting) + len(new) > MAX_WAITING:
            return 0.0
        for text in new:
            self._waiting.add(text)
            self._worker.submit(self._embed, text)
        return _SECONDS * (1 + len(self._waiting))

    def _embed(self, text: str) -> None:
        try:
            self._embeddings(text)
        except Exception:  # noqa: BLE001 - whatever it is, it must not be waited for again and again
            _log.exception("a text cannot be embedded ahead; texts are embedded where they are used from now on")
            self._failed = True
        finally:
            self._waiting.discard(text)
