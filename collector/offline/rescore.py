"""`rightcall rescore`: scores recordings into a folder, a file for each set of traces, and goes on there when interrupted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from collector import __version__
from collector.offline.gate import Tally, tally
from collector.offline.kept_rows import KeptRows
from collector.offline.progress import Progress
from collector.offline.report import jsonl
from collector.offline.results_folder import ResultsError, ResultsFolder, Source
from collector.offline.score import rows_of
from collector.offline.scorer import Scorer
from collector.offline.stream import Evaluation
from collector.receivers.otlp_file import InputError, LeftOut, OtherFileError, named_sets, refuse_streams
from collector.scoring.rule_files import LoadedRules

_MAX_NAME = 80  # characters of the name of a set of traces in that of its results
_DIGITS = 12  # of the hash in it


class Rescored(NamedTuple):
    """All sets of traces are scored; ``resumed`` of them were before. Of the others, some files are ``left_out``."""

    figures: Tally
    sets: int
    resumed: int
    left_out: Sequence[Path]


def rescore(
    paths: Sequence[Path], rules: LoadedRules, folder: Path, *, jobs: int = 1, progress: Progress | None = None
) -> Rescored:
    """Score what is not yet in the folder by these rules. Raises InputError, and ResultsError if the folder is of no use.

    Results by other rules, or by another version, are removed. Those of recordings that are not named stay.
    """
    _refuse_recordings(folder, paths)
    refuse_streams(paths)  # whether they are those that were scored before could not be told
    sets = {_name_of(_place_of(files, paths)): files for files in named_sets(paths)}
    evaluation = Evaluation([Scorer(rules)], rows_of, jobs=jobs, progress=progress)
    figures, resumed, left_out = tally(()), 0, LeftOut(paths)
    with ResultsFolder(folder, {"rightcall": __version__, "rules": _digest(rules)}) as results:
        for name, files in sets.items():
            # Before they are read: what is written to them meanwhile is a change.
            source = _source(files)
            results.supersede(name, source)
            known = results.find(name, source)
            if known is not None:
                left_out.note(files)
                figures += known
                resumed += 1
                continue
            with KeptRows() as rows:
                try:
                    for found in evaluation.of_set(files):
                        rows.extend(found)
                except OtherFileError as error:
                    left_out.note(files, error)
                    continue
                left_out.note(files)
                figures += (of_set := tally(rows))
                results.write(name, source, of_set, jsonl(rows))
    others = left_out.check()
    files_left_out = [*evaluation.left_out, *chain.from_iterable(others)]
    return Rescored(figures, len(sets) - len(others), resumed, files_left_out)


def _refuse_recordings(folder: Path, paths: Iterable[Path]) -> None:
    for path in paths:
        if folder.resolve().is_relative_to(path.resolve()):
            raise ResultsError(
                f"{folder}: is in {path}, where its results would be read as recordings; name another folder"
            )


def _place_of(files: Sequence[Path], paths: Sequence[Path]) -> Path:
    """Returns the file where one alone is named, else the folder of the files."""
    alone = len(files) == 1 and files[0] in paths
    return (files[0] if alone else files[0].parent).resolve()


def _name_of(path: Path) -> str:
    """Returns the name of the results: the same for the same recording, from whichever folder it is named."""
    readable = re.sub(r"[^A-Za-z0-9._-]", "_", path.name)[:_MAX_NAME]
    return f"{readable}-{sha256(os.fsencode(path)).hexdigest()[:_DIGITS]}.jsonl"


def _source(files: Iterable[Path]) -> Source:
    try:
        return {str(file.resolve()): _version(file.stat()) for file in files}
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None


def _version(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns


def _digest(rules: LoadedRules) -> str:
    """Changes whenever verdicts may change: the order and meaning of the rules, and how intents are recognised."""
    intents: list[Mapping[str, object]] = [intent.model_dump(mode="json") for intent in rules.set.intents]
    return sha256(json.dumps([rules.set.digest, intents]).encode()).hexdigest()[:_DIGITS]
