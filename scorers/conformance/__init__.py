"""The native scorer: an optimal alignment of a run with the pattern its rule expects."""
