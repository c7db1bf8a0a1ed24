"""The statistics that comparing and learning share: intervals and tests that hold for small samples."""

from __future__ import annotations

from math import exp, lgamma, log, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def share_interval(hits: float, total: float, confidence: float = 0.95) -> Interval:
    """Returns Wilson's interval of a share: close to its level even at 0 or all of a few."""
    if not total:
        return Interval(0.0, 1.0)
    z, share = _z(confidence), hits / total
    center, spread = share + z * z / (2 * total), z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return Interval(max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale))


def difference_interval(hits_a: int, total_a: int, hits_b: int, total_b: int, confidence: float = 0.95) -> Interval:
    """Returns Newcombe's interval of the difference of two shares, b - a, from Wilson's interval of each."""
    if not total_a or not total_b:
        return Interval(-1.0, 1.0)
    of_a, of_b = share_interval(hits_a, total_a, confidence), share_interval(hits_b, total_b, confidence)
    return difference_of(hits_a / total_a, of_a, hits_b / total_b, of_b)


def difference_of(a: float, of_a: Interval, b: float, of_b: Interval) -> Interval:
    """Returns Newcombe's interval of b - a, from two shares and Wilson's interval of each."""
    below = sqrt((b - of_b.low) ** 2 + (of_a.high - a) ** 2)
    above = sqrt((of_b.high - b) ** 2 + (a - of_a.low) ** 2)
    return Interval(max(-1.0, b - a - below), min(1.0, b - a + above))


def log_evidence(hits_a: int, total_a: int, hits_b: int, total_b: int) -> float:
    """Returns the logarithm of an e-value against "both shares are the same", which may be asked after each run.

    The likelihood of both samples, each with a share of its own under Jeffreys' prior, over that of the one share that fits
    both best: universal inference (L. Wasserman, A. Ramdas and S. Balakrishnan, PNAS 117, 2020). Where the shares are the
    same, it ever exceeds 1 / p with a probability of at most p, however often one looks (J. Ville, 1939), and so does
    a mean of several such values. It needs nothing but the counts, and holds for few runs and for rare hits.
    """
    apart = _log_marginal(hits_a, total_a) + _log_marginal(hits_b, total_b)
    return apart - _log_likelihood(hits_a + hits_b, total_a + total_b)


def _log_marginal(hits: int, total: int) -> float:
    return lgamma(hits + 0.5) + lgamma(total - hits + 0.5) - lgamma(total + 1) - log(pi)


def _log_likelihood(hits: int, total: int) -> float:
    """Of the share that fits best."""
    misses = total - hits
    return (hits * log(hits / total) if hits else 0.0) + (misses * log(misses / total) if misses else 0.0)


def chance_of_at_most(together: int, first: int, second: int, total: int) -> float:
    """Returns how probable it is that two independent events that occur so often occur together at most that often.

    This is the lower tail of the hypergeometric distribution: Fisher's exact test of "they exclude each other".
    """
    least = max(0, first + second - total)
    return min(1.0, sum(exp(_log_hypergeometric(k, first, second, total)) for k in range(least, together + 1)))


def _log_hypergeometric(k: int, first: int, second: int, total: int) -> float:
    return _log_choose(first, k) + _log_choose(total - first, second - k) - _log_choose(total, second)


def _log_choose(n: int, k: int) -> float:
    # In logarithms: binomials of a few thousand are beyond the range of a float.
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
