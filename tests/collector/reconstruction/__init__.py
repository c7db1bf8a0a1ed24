"""Tests of ``collector.reconstruction``."""
