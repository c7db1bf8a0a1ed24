"""The table of shares in collector/README.md, made from the budget: ``python -m tests.collector.memory_table``."""

from __future__ import annotations

from pathlib import Path

from collector.config.memory import SHARES
from tests import marked

README = Path(__file__).parents[2] / "collector" / "README.md"


def table() -> str:
    """The table as Markdown."""
    lines = ["| share | of `limit_mib` | at most | what it holds |", "|---|---|---|---|"]
    for name, (percent, at_most, holds) in SHARES.items():
        most = f"`{at_most}`" if isinstance(at_most, str) else f"{at_most} MiB"
        lines.append(f"| `{name}` | {percent} % | {most} | {holds} |")
    return "\n".join(lines) + "\n"


def readme() -> str:
    """The README with the table brought up to date."""
    return marked.replaced(README.read_text(), "memory", table())


if __name__ == "__main__":
    README.write_text(readme())
