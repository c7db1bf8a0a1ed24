"""Exporters send results to backends; they own retries and drops."""
