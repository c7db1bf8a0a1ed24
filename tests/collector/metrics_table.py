"""The table of metrics in deploy/reference.md, made from ``Telemetry``: ``python -m tests.collector.metrics_table``."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import Counter

from collector.telemetry.metrics import Telemetry
from tests import marked

DOCUMENT = Path(__file__).parents[2] / "deploy" / "reference.md"


def table() -> str:
    """The table as Markdown."""
    lines = ["| metric | type | labels | what |", "|---|---|---|---|"]
    for name, kind, labels, documentation in Telemetry().table:
        suffix = "_total" if kind is Counter else ""
        shown = ", ".join(f"`{label}`" for label in labels)
        lines.append(f"| `rightcall_{name}{suffix}` | {kind.__name__.lower()} | {shown} | {documentation} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """The document with the table brought up to date."""
    return marked.replaced(DOCUMENT.read_text(), "metrics", table())


if __name__ == "__main__":
    DOCUMENT.write_text(document())
