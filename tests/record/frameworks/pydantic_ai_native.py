"""Pydantic AI under its own instrumentation, as it is by default."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from tests.record.frameworks.pydantic_ai_agent import ask, instrument
from tests.record.session import record

if __name__ == "__main__":
    record(instrument, ask)
