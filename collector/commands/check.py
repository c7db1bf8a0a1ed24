"""``rightcall check``: validates rule files, and runs their own tests."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from collector.commands import FAILED, SUCCESS, UNUSABLE, add_command, tell, write_lines
from collector.errors import ConfigError, UnreadableError

_T = TypeVar("_T")


def add(commands: Any) -> None:
    """Declare the command."""
    check = add_command(
        commands, "check", "validate rule files and run their own tests; exit 1 on failure",
        "rightcall check rules/",
        "rightcall check --config collector.yaml",
        "rightcall check --systems",
    )  # fmt: skip
    check.add_argument("rules", type=Path, nargs="*", metavar="RULES")
    check.add_argument("--config", type=Path, metavar="C", help="also validate a configuration and the rules it names")
    check.add_argument(
        "--systems", action="store_true", help="list the scorers that a rule may name, and their options"
    )
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from collector.config.loading import load_config  # noqa: PLC0415
    from collector.config.yaml_documents import named_rule_paths, rule_paths  # noqa: PLC0415
    from collector.scoring.rule_files import check_rules  # noqa: PLC0415

    if options.systems:
        from collector.scoring import plugins  # noqa: PLC0415
        from scorers import system_options  # noqa: PLC0415

        write_lines("\n".join([*system_options.lines(), *plugins.lines()]))
        return SUCCESS
    if not options.rules and not options.config:  # a build that checks nothing must not be green
        tell("rightcall check: name rule files or folders, or a configuration with --config")
        return UNUSABLE
    try:
        config = load_config(options.config) if options.config else None
        paths = rule_paths([*named_rule_paths(options.rules), *(config.rules if config else ())])
        report, passed = check_rules(paths, _watched)
    except UnreadableError:  # nothing was checked, as `score` has it
        raise
    except ConfigError as error:
        tell(str(error))
        return FAILED
    # Warnings, and no failure: what is unusual may be meant.
    for place, doubt in config.exporters.doubts() if config else ():
        tell(f"warning: {options.config}: {place}: {doubt}")
    write_lines(report)
    return SUCCESS if passed else FAILED


def _watched(rules: Sequence[_T]) -> Iterable[_T]:
    """Show on a terminal how many of the rules are checked."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    console = Console(stderr=True)
    # On stderr and on terminals alone, so that neither a report nor the log of a build has it.
    return track(rules, "Checking rules", console=console, transient=True, disable=not console.is_terminal)
