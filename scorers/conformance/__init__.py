"""The native scorer: the optimal alignment of a run with the pattern that its rule expects."""
