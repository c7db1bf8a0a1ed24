"""A histogram that takes many observations at once: that of prometheus_client takes two locks and a search for each."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

import prometheus_client


class Histogram(prometheus_client.Histogram):
    """As that of prometheus_client, with ``observe_all``."""

    def observe_all(self, amounts: Sequence[float]) -> None:
        """Observe each of these amounts."""
        self._sum.inc(sum(amounts))
        # The last bound is infinite, so every amount has a bucket.
        buckets = Counter([bisect_left(self._upper_bounds, amount) for amount in amounts])
        for bucket, count in buckets.items():
            self._buckets[bucket].inc(count)
