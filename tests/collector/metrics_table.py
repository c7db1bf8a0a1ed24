"""The table of metrics in collector/README.md, made from ``Telemetry``: ``python -m tests.collector.metrics_table``."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import Counter

from collector.telemetry.metrics import Telemetry
from tests import marked

README = Path(__file__).parents[2] / "collector" / "README.md"


def table() -> str:
    """The table as Markdown."""
    lines = ["| metric | type | labels | what |", "|---|---|---|---|"]
    for name, kind, labels, documentation in Telemetry().table:
        suffix = "_total" if kind is Counter else ""
        shown = ", ".join(f"`{label}`" for label in labels)
        lines.append(f"| `rightcall_{name}{suffix}` | {kind.__name__.lower()} | {shown} | {documentation} |")
    return "\n".join(lines) + "\n"


def readme() -> str:
    """The README with the table brought up to date."""
    return marked.replaced(README.read_text(), "metrics", table())


if __name__ == "__main__":
    README.write_text(readme())
