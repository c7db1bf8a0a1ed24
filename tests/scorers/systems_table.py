"""The table of scorers in scorers/README.md, made from their options: ``python -m tests.scorers.systems_table``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from scorers.system_options import system_options
from tests import marked

README = Path(__file__).parents[2] / "scorers" / "README.md"


def table() -> str:
    """The table as Markdown."""
    shown = ["| system | version | options |", "|---|---|---|"]
    for (system, version), rows in groupby(system_options(), lambda row: (row.system, row.version)):
        options = [
            f"`{row.option}`: {row.values} ({'default `' + row.default + '`' if row.default else 'required'})"
            for row in rows
            if row.option
        ]
        shown.append(f"| `{system}` | {version} | {'; '.join(options)} |")
    return "\n".join(shown) + "\n"


def readme() -> str:
    """The README with the table brought up to date."""
    return marked.replaced(README.read_text(), "systems", table())


if __name__ == "__main__":
    README.write_text(readme())
