"""`rightcall watch`: the check of rule files, and what they change in recorded runs, again at each change of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from collector.config.yaml_documents import rule_paths, rule_versions
from collector.errors import ConfigError
from collector.offline import diff_report
from collector.offline.diff import diff_files
from collector.offline.progress import Progress
from collector.receivers.otlp_file import InputError, refuse_streams
from collector.scoring.rule_files import LoadedRules, check_rules, load_rules


def watch(
    rules: Sequence[Path],
    recordings: Sequence[Path],
    wait: Callable[[], bool],
    write: Callable[[str], None],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Write a report at once, and after each change of the files for as long as ``wait`` returns true.

    Runs are compared with what the first valid version of the files said of them.
    """
    refuse_streams(recordings)
    first: LoadedRules | None = None
    seen: object = None
    while True:
        versions = rule_versions(rules)
        # Files that are there no more, or not yet, are told like a mistake in them: once.
        if versions != seen:
            if seen is not None:
                write("\nthe rules have changed\n")
            seen = versions
            loaded = _check(rules, write)
            if loaded is not None and first is not None and recordings:
                _compare(recordings, first, loaded, write, jobs, progress)
            first = first or loaded
        if not wait():
            return


def _check(rules: Sequence[Path], write: Callable[[str], None]) -> LoadedRules | None:
    """Write what `rightcall check` says. Returns the rules unless they are invalid."""
    try:
        paths = rule_paths(rules)
        report, _ = check_rules(paths)
        write(f"{report}\n")
        return load_rules(paths)
    except ConfigError as error:
        write(f"{error}\n")
        return None


def _compare(
    recordings: Sequence[Path],
    before: LoadedRules,
    after: LoadedRules,
    write: Callable[[str], None],
    jobs: int,
    progress: Progress | None,
) -> None:
    if before.set.digest == after.set.digest:
        write("the rules mean what they meant at first\n")
        return
    try:
        with progress or Progress(None) as shown:
            diff = diff_files(recordings, before, after, jobs=jobs, progress=shown)
    except InputError as error:  # it may be being written
        write(f"{error}\n")
        return
    write(diff_report.table(diff))
