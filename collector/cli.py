"""The ``rightcall`` command: parses arguments and chooses the exit code; nothing else.

Exit codes: 0 success, 1 a check failed (score under the threshold, invalid rules), 2 wrong usage or unreadable input,
128 + n ended by signal n (130 for SIGINT, 143 for SIGTERM). A collector that was ready drains at either signal and exits 0.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from collector import __version__
from collector.commands import FAILED, SUCCESS, UNUSABLE, add_command, compare, diff, explain, learn, write_lines
from collector.errors import ConfigError, RightcallError
from collector.otlp import wire

_T = TypeVar("_T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # whatever the locale: reports hold names in every language
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        with _exit_on_signals():
            return int(options.command(options))
    except RightcallError as error:
        write_lines(str(error), sys.stderr)
        return UNUSABLE
    except BrokenPipeError:  # the reader, such as `head`, is done
        sys.stderr.close()
        return SUCCESS


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """End at SIGINT and SIGTERM at once and without a traceback, as long as nobody else handles them."""
    previous = {number: signal.signal(number, _exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _exit(number: int, _: object) -> None:
    os._exit(128 + number)  # an exception could be swallowed by whatever is being imported


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rightcall", description="Scores the tool calls of AI agents from their traces."
    )
    parser.add_argument("--version", action="version", version=f"rightcall {__version__}{_build()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the collector; SIGTERM drains and exits, SIGHUP reloads the rules")
    run.add_argument("--config", type=Path, required=True, metavar="FILE")
    run.set_defaults(command=_run)

    score = add_command(
        commands, "score", "score recorded traces from files or folders",
        "rightcall score --rules rules/ traces/",
        "rightcall score --rules rules/ --format junit --min-accuracy 0.9 --fail-on forbidden,error,no_rule traces/",
    )  # fmt: skip
    _add_rules(score)
    score.add_argument("--format", choices=["table", "jsonl", "junit", "markdown"], default="table")
    score.add_argument(
        "--fail-on", type=_kinds, default=("forbidden",), metavar="KINDS",
        help=f"exit 1 when a run is one of these, separated by commas: {', '.join(KINDS)}, or none (default: forbidden)",
    )  # fmt: skip
    score.add_argument("--min-accuracy", type=_share, metavar="X", help="exit 1 when pass / (pass + fail) is under X")
    score.add_argument("--fail-under", type=_share, metavar="X", help="exit 1 when the mean score is under X")
    score.add_argument(
        "--min-runs", type=_count, default=1, metavar="N",
        help="exit 1 when fewer than N are pass or fail; without rules, when fewer are found (default: 1)",
    )  # fmt: skip
    score.add_argument(
        "--verbose", action="store_true", help="also say, on stderr, what was not read or only by its shape, by scope"
    )
    score.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    score.set_defaults(command=_score)

    explain.add(commands)

    init = add_command(
        commands, "init", "write a first rule file with a test, and a configuration",
        "rightcall init first/",
        "rightcall init --from traces/ learned/",
    )  # fmt: skip
    init.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="where to (default: here)")
    init.add_argument(
        "--from", type=Path, action="append", default=[], dest="recordings", metavar="PATH",
        help="recorded traces that the rules are made from; may be repeated",
    )  # fmt: skip
    init.set_defaults(command=_init)

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

    diff.add(commands)
    learn.add(commands)
    compare.add(commands)

    record = commands.add_parser("record", help="run a command and keep the telemetry it sends, for score")
    record.add_argument("-o", "--output", type=Path, default=Path("traces"), metavar="DIR", help="default: traces")
    record.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="with its arguments")
    record.set_defaults(command=_record)

    schema = commands.add_parser("schema", help="print a JSON Schema for editors")
    schema.add_argument("what", choices=["rules", "config"])
    schema.set_defaults(command=_schema)

    demo = commands.add_parser("demo", help="replay recorded agent traffic into a collector and show its scores")
    demo.add_argument("--seconds", type=float, metavar="N", help="stop after N seconds; without it, at Ctrl-C")
    demo.set_defaults(command=_demo)
    return parser


def _add_rules(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="R", help="rule file or folder; may be repeated"
    )


KINDS = ("fail", "forbidden", "error", "ambiguous", "incomplete", "no_rule")
"""What ``--fail-on`` takes: labels, runs with a call that their rule forbids, runs without a rule."""


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(part.strip() for part in text.split(",") if part.strip() not in ("", "none"))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown kind {unknown[0]}; known are {', '.join(KINDS)}, none")
    return kinds


def _build() -> str:
    """Tells whether this is the compiled build (see `make wheel`): its modules have a source, and run without it."""
    return "" if str(wire.__file__).endswith(".py") else " (compiled)"


# Commands import what they need when they run: the process starts fast, stays small, and handles signals meanwhile.


def _run(options: argparse.Namespace) -> int:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core logs each malformed header
    import asyncio  # noqa: PLC0415

    from collector.config.model import load_config  # noqa: PLC0415
    from collector.service.log_config import configure_logging  # noqa: PLC0415
    from collector.service.serve import serve  # noqa: PLC0415

    config = load_config(options.config)
    configure_logging(config.service.telemetry.logs.level)
    asyncio.run(serve(config))
    return SUCCESS


def _score(options: argparse.Namespace) -> int:
    import logging  # noqa: PLC0415

    from collector.config.yaml_documents import rule_paths  # noqa: PLC0415
    from collector.offline import report  # noqa: PLC0415
    from collector.offline.gate import Gate, tally  # noqa: PLC0415
    from collector.offline.score import score_files  # noqa: PLC0415
    from collector.runs.explained import closest_rule  # noqa: PLC0415
    from collector.runs.rows import row_of  # noqa: PLC0415
    from collector.scoring.rule_files import load_rules  # noqa: PLC0415
    from collector.service.log_config import RepeatLimit  # noqa: PLC0415
    from collector.telemetry.blind_spots import blind_spots, sentences  # noqa: PLC0415
    from collector.telemetry.metrics import Telemetry  # noqa: PLC0415

    if logging.lastResort is not None:
        logging.lastResort.addFilter(RepeatLimit())
    rules = load_rules(rule_paths(options.rules))
    for remark in rules.remarks:
        if remark.is_mistake:
            write_lines(f"warning: {remark.text}", sys.stderr)
    telemetry = Telemetry()
    rows = []
    for verdict in score_files(options.paths, rules, telemetry=telemetry):
        closest = closest_rule(verdict, rules.set.rules)
        rows.append(row_of(verdict) | ({"closest_rule": closest} if closest is not None else {}))
    gate = Gate(options.fail_on, options.min_runs, options.min_accuracy, options.fail_under, bool(options.rules))
    objections = gate.objections(tally(rows))
    sys.stdout.write(report.FORMATS[options.format](rows, objections))
    for rule, scorer in rules.judges({row["rule"] for row in rows}):
        write_lines(f"skipped: {scorer} of rule {rule} needs a judge, which only `rightcall run` has", sys.stderr)
    if options.verbose:
        write_lines("\n".join(sentences(blind_spots(telemetry))), sys.stderr)
    for objection in objections:
        write_lines(f"rightcall score: not met: {objection}", sys.stderr)
    return FAILED if objections else SUCCESS


def _init(options: argparse.Namespace) -> int:
    from collector.offline.init import init  # noqa: PLC0415
    from collector.offline.score import score_files  # noqa: PLC0415
    from collector.scoring.rule_files import load_rules  # noqa: PLC0415

    try:
        written = init(options.folder, [verdict.run for verdict in score_files(options.recordings, load_rules([]))])
    except OSError as error:
        write_lines(f"{error.filename}: cannot be written: {error.strerror}", sys.stderr)
        return UNUSABLE
    rules, config = written
    recordings = " ".join(map(str, options.recordings)) or "traces/"
    write_lines("\n".join([*(f"wrote {path}" for path in written), "next:"]), sys.stdout)
    write_lines(
        f"  rightcall check {rules.parent}                        # validate the rules and run their tests", sys.stdout
    )
    write_lines(f"  rightcall score --rules {rules.parent} {recordings}    # score recorded runs", sys.stdout)
    write_lines(f"  rightcall run --config {config}             # score what your agents send", sys.stdout)
    return SUCCESS


def _check(options: argparse.Namespace) -> int:
    from collector.config.model import load_config  # noqa: PLC0415
    from collector.config.yaml_documents import rule_paths  # noqa: PLC0415
    from collector.scoring.rule_files import check_rules  # noqa: PLC0415

    if options.systems:
        from collector.scoring import plugins  # noqa: PLC0415
        from scorers import system_options  # noqa: PLC0415

        write_lines("\n".join([*system_options.lines(), *plugins.lines()]), sys.stdout)
        return SUCCESS
    try:
        config = load_config(options.config) if options.config else None
        paths = rule_paths([*options.rules, *(config.rules if config else ())])
        report, passed = check_rules(paths, _watched)
    except ConfigError as error:
        write_lines(str(error), sys.stderr)
        return FAILED
    for place, doubt in config.exporters.doubts() if config else ():
        write_lines(f"warning: {options.config}: {place}: {doubt}", sys.stderr)
    write_lines(report, sys.stdout)
    return SUCCESS if passed else FAILED


def _watched(rules: Sequence[_T]) -> Iterable[_T]:
    """Show on a terminal how many of the rules are checked."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    console = Console(stderr=True)
    return track(rules, "Checking rules", console=console, transient=True, disable=not console.is_terminal)


def _record(options: argparse.Namespace) -> int:
    from collector.offline.record import record  # noqa: PLC0415

    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        print(
            "rightcall record: name the command after --, such as: rightcall record -- python agent.py", file=sys.stderr
        )
        return UNUSABLE
    return record(command, options.output)


def _schema(options: argparse.Namespace) -> int:
    import json  # noqa: PLC0415

    from collector.config.model import Config  # noqa: PLC0415
    from collector.scoring.plugins import find_plugins  # noqa: PLC0415
    from scorers.rule_schema import rule_schema  # noqa: PLC0415

    find_plugins()
    print(json.dumps(rule_schema() if options.what == "rules" else Config.model_json_schema(), indent=2))
    return SUCCESS


def _demo(options: argparse.Namespace) -> int:
    from collector.demo import demo  # noqa: PLC0415

    return demo(options.seconds)
