"""``rightcall schema``: prints a JSON Schema for editors."""

from __future__ import annotations

import argparse
from typing import Any

from collector.commands import SUCCESS, add_command, write_output


def add(commands: Any) -> None:
    """Declare the command."""
    schema = add_command(
        commands, "schema", "print a JSON Schema for editors",
        "rightcall schema rules > rules.schema.json", "rightcall schema config",
    )  # fmt: skip
    schema.add_argument("what", choices=["rules", "config"])
    schema.set_defaults(command=_schema)


def _schema(options: argparse.Namespace) -> int:
    import json  # noqa: PLC0415

    from collector.config.schema import config_schema  # noqa: PLC0415
    from collector.scoring.plugins import find_plugins  # noqa: PLC0415
    from scorers.rule_schema import rule_schema  # noqa: PLC0415

    # Editors then know the scorers and matchers of the packages that are installed here.
    find_plugins()
    schema = rule_schema() if options.what == "rules" else config_schema()
    write_output([f"{json.dumps(schema, indent=2)}\n"])
    return SUCCESS
