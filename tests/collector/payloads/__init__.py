"""Tests of ``collector.payloads``."""
