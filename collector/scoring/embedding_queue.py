"""Embeds texts in a thread before scoring needs them: numpy releases the GIL, so the event loop keeps running.

A trace that needs an embedding not yet computed is postponed until it should be. If more texts wait than the queue takes,
the trace asks again later: nothing is embedded in the event loop but the texts of traces that cannot wait, and those that
come after the first `_MAX_TEXTS` of a trace.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from collector.scoring.embeddings import CACHED_TEXTS, MAX_TEXT, Embeddings

MAX_WAITING = 256
_MAX_TEXTS = CACHED_TEXTS // 2  # per trace: all of them must be cached at once
_SECONDS_PER_TEXT = 0.01  # approximately

_log = logging.getLogger(__name__)


class EmbeddingQueue:
    """A component. Call ``ahead`` from the event loop only."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._waiting: set[str] = set()
        self._worker = ThreadPoolExecutor(1, "embeddings")
        self._failed = False

    async def start(self) -> None:
        """Does nothing: the thread starts with the first text."""

    async def shutdown(self) -> None:
        """Drop waiting texts and stop the thread."""
        self._worker.shutdown(cancel_futures=True)

    def ahead(self, texts: Iterable[str]) -> float:
        """Queue those of the texts that are not cached. Returns in how many seconds to ask again, 0 to score now."""
        # Cut as it will be embedded: texts with one beginning wait as one.
        unknown = {text[:MAX_TEXT] for text in islice(texts, _MAX_TEXTS) if not self._embeddings.knows(text)}
        if not unknown or self._failed:
            return 0.0
        new = unknown - self._waiting
        for text in islice(new, MAX_WAITING - len(self._waiting)):
            self._waiting.add(text)
            self._worker.submit(self._embed, text)
        return _SECONDS_PER_TEXT * (1 + len(self._waiting))

    def _embed(self, text: str) -> None:
        try:
            self._embeddings(text)
        except Exception:  # noqa: BLE001 - whatever failed must not be retried forever
            _log.exception("embedding a text failed; texts are embedded during scoring from now on")
            self._failed = True
        finally:
            self._waiting.discard(text)
