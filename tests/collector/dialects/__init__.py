"""Tests of ``collector.dialects``."""
