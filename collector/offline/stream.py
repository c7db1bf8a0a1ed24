"""Verdicts on recordings of any size, in memory that does not grow with them.

A recording of up to 16 MiB is scored as a whole. A larger one is divided into parts on disk first, with all spans of a trace in
the same part wherever they stood, and then scored part by part; runs that wait for their conversation are kept on disk, too.
So a verdict never depends on the size of the recording or on how its traces lie in one another.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from collector.offline.parts import LEVELS, PARTS, Batch, PartsFile, Request, size_of, write_parts
from collector.offline.progress import Progress
from collector.offline.scorer import ConversationRecords, Scorer
from collector.offline.workers import call_in_processes
from collector.receivers.otlp_file import (
    InputError,
    LeftOut,
    OtherFileError,
    Section,
    file_size,
    named_sets,
    read_set,
    sections_of,
)
from collector.scoring.verdict import Verdict
from collector.telemetry import blind_spots
from collector.telemetry.metrics import Telemetry

_WHOLE = 16 << 20  # bytes of requests that are scored without a file of parts
_MAX_PART = 48 << 20  # bytes; a larger part is divided again
_SECTION = 16 << 20  # bytes of a file that one of several processes divides at once
_CONVERSATIONS = 16 << 20  # bytes of runs that are kept in memory for their conversations

Found = TypeVar("Found")
Lists = Sequence[list[Verdict]]
"""For each scorer its verdicts on the same traces."""


class _Scored(NamedTuple, Generic[Found]):
    found: Found
    waiting: Sequence[ConversationRecords]
    """For each scorer the runs that wait for their conversation."""
    spots: blind_spots.BlindSpots


class Evaluation(Generic[Found]):
    """What is done with recordings. ``digest`` makes of verdicts what is yielded; with several jobs it must be picklable."""

    def __init__(
        self,
        scorers: Sequence[Scorer],
        digest: Callable[[Lists], Found],
        *,
        jobs: int = 1,
        progress: Progress | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._scorers, self._digest, self._jobs = scorers, digest, jobs
        self._progress = progress or Progress(None)
        self._telemetry = telemetry or Telemetry()
        self.left_out: list[Path] = []
        """Files about something else than traces."""

    def of_files(self, paths: Iterable[Path]) -> Iterator[Found]:
        """Yield what the digest makes of each part of each set of traces, and of its conversations. Raises InputError."""
        paths = list(paths)
        left_out = LeftOut(paths)
        for files in named_sets(paths):
            try:
                yield from self.of_set(files)
            except OtherFileError as error:
                left_out.note(files, error)
            else:
                left_out.note(files)
        self.left_out += chain.from_iterable(left_out.check())

    def of_set(self, files: Sequence[Path]) -> Iterator[Found]:
        """Yield the same of one set of traces. Raises InputError."""
        size = sum(map(file_size, files))
        self._progress.begin("reading", size)
        requests = read_set(files, self._progress.add, self.left_out)
        first: list[Request] = []
        held = 0
        if self._jobs == 1 or size <= _WHOLE:
            for request in requests:
                first.append(request)
                held += len(request[2])
                if held > _WHOLE:
                    break
            else:
                self._progress.begin("scoring", 1)
                yield self._digest([scorer.all_of(first, self._telemetry) for scorer in self._scorers])
                return
        with closing(PartsFile()) as file, closing(PartsFile()) as conversations:
            batches = self._divide_in_processes(files, file) if self._jobs > 1 and not first else None
            if batches is None:
                batches = list(write_parts(_emptying(first, requests), file))
            waiting: list[list[Batch]] = [[] for _ in self._scorers]
            yield from self._of_parts(file, batches, conversations, waiting)
            if any(waiting):
                for part in range(PARTS):
                    yield self._of_conversations(conversations, waiting, part)

    def _divide_in_processes(self, files: Sequence[Path], file: PartsFile) -> list[Batch] | None:
        """Returns None if the files cannot be read in sections, which only reading them as a whole can tell from an error."""
        sections = [section for path in files for section in sections_of(path, _SECTION)]
        divided: list[Batch] = []
        others: list[Path] = []
        is_any = False
        found = call_in_processes(partial(_divide, file), sections, self._jobs)
        for section, batches in zip(sections, found, strict=True):
            if isinstance(batches, InputError):
                # Of a file in several sections the later ones are requests: it is not about something else.
                if isinstance(batches, OtherFileError) and section == Section(section.path):
                    others.append(section.path)
                    continue
                return None
            self._progress.add((section.end or file_size(section.path)) - section.start)
            divided += batches
            is_any = True
        if not is_any:
            return None
        self.left_out += others
        return divided

    def _of_parts(
        self, file: PartsFile, batches: Sequence[Batch], conversations: PartsFile, waiting: list[list[Batch]]
    ) -> Iterator[Found]:
        sizes = [size_of(batches, part) for part in range(PARTS)]
        self._progress.begin("scoring", sum(sizes))
        parts = [part for part in range(PARTS) if sizes[part]]
        kept: list[ConversationRecords] = [[] for _ in self._scorers]
        size = 0
        # A process cannot send a generator, so with several of them the results of one part are a list.
        work = partial(self._of_part, file, batches)
        results = (
            map(work, parts) if self._jobs == 1 else call_in_processes(lambda part: list(work(part)), parts, self._jobs)
        )
        for part, scored in zip(parts, results, strict=True):
            for found, records, spots in scored:
                if self._jobs > 1:
                    blind_spots.add(self._telemetry, spots)
                for runs, more in zip(kept, records, strict=True):
                    runs.extend(more)
                    size += sum(len(record) for _, record in more)
                if size > _CONVERSATIONS:
                    _write(kept, conversations, waiting)
                    kept, size = [[] for _ in self._scorers], 0
                yield found
            self._progress.add(sizes[part])
        if size:
            _write(kept, conversations, waiting)

    def _of_part(
        self, file: PartsFile, batches: Sequence[Batch], part: int, level: int = 1
    ) -> Iterator[_Scored[Found]]:
        requests = (("recording", signal, request) for signal, request in file.read(batches, part))
        if size_of(batches, part) > _MAX_PART and level < LEVELS:
            with closing(PartsFile()) as smaller:
                divided = list(write_parts(requests, smaller, level))
                for each in range(PARTS):
                    yield from self._of_part(smaller, divided, each, level + 1)
            return
        telemetry = self._telemetry if self._jobs == 1 else Telemetry()
        read = list(requests)
        lists, waiting = zip(*(scorer.traces_of(read, telemetry) for scorer in self._scorers), strict=True)
        yield _Scored(self._digest(lists), waiting, blind_spots.blind_spots(telemetry))

    def _of_conversations(self, file: PartsFile, waiting: Sequence[Sequence[Batch]], part: int) -> Found:
        return self._digest(
            [
                scorer.conversations_of((record for _, record in file.read(batches, part)), self._telemetry)
                for scorer, batches in zip(self._scorers, waiting, strict=True)
            ]
        )


def _emptying(first: list[Request], rest: Iterator[Request]) -> Iterator[Request]:
    """Yield the first requests without keeping them, then the rest."""
    first.reverse()
    return chain(iter(lambda: first.pop() if first else None, None), rest)


def _divide(file: PartsFile, section: Section) -> list[Batch] | InputError:
    try:
        return list(write_parts(read_set([section]), file))
    except InputError as error:
        return error


def _write(kept: Sequence[ConversationRecords], file: PartsFile, waiting: Sequence[list[Batch]]) -> None:
    """Keep runs on disk, by conversation."""
    for records, batches in zip(kept, waiting, strict=True):
        parts: list[list[bytes]] = [[] for _ in range(PARTS)]
        for key, record in records:
            parts[zlib.crc32(key) % PARTS] += file.record(record)
        batches.append(file.write(parts))
