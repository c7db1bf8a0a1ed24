"""Tests of ``collector.model``."""
