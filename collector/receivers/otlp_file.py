"""Reads traces from files: OTLP protobuf (``.pb``), JSON (``.json``) and JSON lines (``.jsonl``), optionally with ``.gz``.

``-`` is standard input, which has to be JSON. `exported_json` lists the formats of JSON. A file of any size is read piece by
piece; what has to be in memory as a whole is one JSON value, or the spans of one resource in protobuf. Raises InputError for
a file that cannot be read or is in none of the formats, and for a folder with no such file in or below it, or with one that
is compressed in another way.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from collector.component import Signal
from collector.errors import CollectorError, DecodeError, RightcallError
from collector.files import walk
from collector.otlp import exported_json
from collector.otlp.signals import signal_of
from collector.otlp.wire import read_field

_SUFFIXES = (".pb", ".json", ".jsonl")
_COMPRESSED: Final = {".zst": "Zstandard", ".bz2": "bzip2", ".xz": "xz", ".lz4": "LZ4", ".zip": "ZIP"}
_BEGINNINGS: Final = {
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x04\x22\x4d\x18": "LZ4",
    b"PK\3\4": "ZIP",
}
_STDIN: Final = Path("/dev/stdin")
"""What ``-`` stands for, as in other commands."""
_DESCRIPTORS: Final = Path("/dev/fd")
_MAX_RESOURCE = 1 << 30  # bytes of the spans of one resource in protobuf
_PIECE = 1 << 20  # bytes that are read at once
_LONGEST_HEAD = 11  # bytes of the tag and the length of a field


class InputError(RightcallError):
    """A file that is not OTLP, or cannot be read. The message names the file."""


class OtherFileError(InputError):
    """A file of JSON that is about something else than traces."""


class Section(NamedTuple):
    """A file, or of one of JSON lines the lines that begin between two positions in bytes."""

    path: Path
    start: int = 0
    end: int | None = None
    """The end of the file if None."""


OnRead = Callable[[int], None]
"""Is told how many bytes were read, as they are on the disk."""


def _ignore(_: int) -> None:
    pass


def refuse_streams(paths: Iterable[Path]) -> None:
    """Raise InputError for a path that can be read only once."""
    for path in paths:
        if _is_stream(path):
            raise InputError(f"{path}: can be read only once; write it to a file, and name that")


def _is_stream(path: Path) -> bool:
    """Whether a path is standard input, or what a shell's ``<(command)`` stands for."""
    # No other pipe: without a writer it would be waited for, and never end.
    return path in (Path("-"), _STDIN) or (path.parent == _DESCRIPTORS and path.is_fifo())


def named_sets(paths: Iterable[Path]) -> list[list[Path]]:
    """Returns the files at the paths, one list for each set of traces. Raises InputError.

    A trace may go on in the next file of a folder, so those of one folder are one set also if they are named one by one,
    as a shell does with ``traces/*.jsonl``. Each file is there once, however often it or its folder is named.
    """
    named: dict[Path, list[Path]] = {}
    seen = set[Path]()
    for path in paths:
        for files in trace_sets(path):
            folder = files[0].parent.resolve()
            for file in files:
                if (target := file.resolve()) not in seen:
                    seen.add(target)
                    named.setdefault(folder, []).append(file)
    return list(named.values())


def trace_sets(path: Path) -> Iterator[list[Path]]:
    """Yield the files at ``path``, one list for each set of traces: a file is a set, and so is each folder with files."""
    path = _STDIN if path == Path("-") else path
    if path.is_file() or _is_stream(path):
        yield [path]
        return
    if not path.is_dir():
        what = "neither a file nor a folder" if path.exists() else "no such file or folder"
        raise InputError(f"{path}: {what}")
    try:
        items = [list(items) for items in walk(path, hidden=True)]
        sets = [files for found in items if (files := list(filter(_is_otlp, found)))]
    except OSError as error:
        raise _unreadable(error.filename or path, error) from None
    for found in items:
        _check_compression(found)
    if not sets:
        raise InputError(f"{path}: contains no {', '.join(_SUFFIXES)} file")
    yield from sets


def _check_compression(files: Sequence[Path]) -> None:
    """Raise InputError for a recording that would be left out without a word, and its runs be missing in every figure."""
    for file in files:
        plain, method = file.with_suffix(""), _COMPRESSED.get(file.suffix)
        if method is not None and plain.suffix in _SUFFIXES and plain not in files:
            raise InputError(f"{file}: {_not_read(method)}")


def _not_read(method: str) -> str:
    return f"compressed with {method}, which is not read; decompress it, or compress it with gzip"


class LeftOut:
    """Sets of nothing but files about something else, such as settings in a folder below the traces.

    Like such a file among others they are left out, if the folder at a path that was named has traces elsewhere.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._named = set(paths)
        self._folders = [path for path in self._named if path.is_dir()]
        self._read = set[Path]()
        self._others: list[tuple[Sequence[Path], OtherFileError]] = []

    def note(self, files: Sequence[Path], error: OtherFileError | None = None) -> None:
        """Take in that a set has traces, or is about something else. Raises that error where a file was named."""
        if error is None:
            self._read.update(folder for folder in self._folders if files[0].is_relative_to(folder))
        elif not self._named.isdisjoint(files):
            raise error
        else:
            self._others.append((files, error))

    def check(self) -> list[Sequence[Path]]:
        """Returns the sets that were left out. Raises the error of the first that no folder with traces has."""
        for files, error in self._others:
            if not any(files[0].is_relative_to(folder) for folder in self._read):
                raise error
        return [files for files, _ in self._others]


def read_set(
    sections: Iterable[Section | Path], on_read: OnRead = _ignore, left_out: list[Path] | None = None
) -> Iterator[tuple[Path, Signal, bytes]]:
    """Yield the requests of a set of files. Raises InputError.

    A file about something else is left out if there are others, and added to ``left_out`` when all are read.
    """
    others: dict[Path, OtherFileError] = {}
    is_any = False
    for section in sections:
        path = section if isinstance(section, Path) else section.path
        try:
            for signal, request in read_file(section, on_read):
                is_any = True
                yield path, signal, request
        except OtherFileError as error:
            others[path] = error
    if others and not is_any:
        raise next(iter(others.values()))
    if left_out is not None:
        left_out += others


def read_file(section: Section | Path, on_read: OnRead = _ignore) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests in a file as protobuf. Raises InputError, which names the file and, for JSON lines, the line."""
    section = Section(section) if isinstance(section, Path) else section
    path = section.path
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    pieces = _uncompressed(_pieces(section, on_read))
    try:
        if kind == ".pb":
            for request in _protobuf(path, pieces):
                yield signal_of(request), request
        else:
            yield from _exported(section, pieces)
    except CollectorError as error:
        raise InputError(f"{path}: {error}") from None


def file_size(path: Path) -> int:
    """Returns how many bytes a file has. Raises InputError."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from None


def sections_of(path: Path, size: int) -> Iterator[Section]:
    """Divide a file of JSON lines into sections of about ``size`` bytes; any other file is one section. Raises InputError.

    A section begins at a line that is a request by itself. Such a line inside of a value ends the section before it in
    the middle of that value: it cannot be read then, and the file has to be read as a whole.
    """
    start = 0
    if path.suffix == ".jsonl":
        try:
            with path.open("rb") as file:
                while line := _line_after(file, start + size):
                    yield Section(path, start, line)
                    start = line
        except OSError as error:
            raise _unreadable(path, error) from None
    yield Section(path, start)


def _line_after(file: IO[bytes], position: int) -> int:
    """Returns where the first request on a line of its own begins after ``position``, 0 if none does."""
    file.seek(position - 1)
    while (part := file.readline(_PIECE)) and not part.endswith(b"\n"):
        pass
    for _ in range(_MAX_LINES_TRIED):
        begin = file.tell()
        line = file.readline(_LONGEST_LINE)
        if not line:
            break
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and exported_json.is_otlp(document):
            return begin
    return 0


_MAX_LINES_TRIED = 1000
_LONGEST_LINE = 16 << 20  # bytes; a longer one is no place to divide a file
_EMPTY: Final[dict[str, Any]] = {}  # a request without anything in it, as file exporters write it


def _exported(section: Section, pieces: Iterator[bytes]) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests of a file of JSON: one document, or several one after the other, on lines of their own or not."""
    path, line, is_first, documents = section.path, 0, True, exported_json.documents(_text(pieces))
    try:
        for line, document in documents:  # noqa: B007 - the error below names the last one
            if document != _EMPTY:
                yield from exported_json.requests(document)
                is_first = False
        if line and is_first:  # of nothing else it is unknown what it is about
            yield from exported_json.requests(_EMPTY)
    except exported_json.JSONSyntaxError as error:
        raise InputError(f"{path}:{_lines_before(section) + error.line}: {error}") from None
    except CollectorError as error:
        # What is left out silently is a file about something else, not one of traces that begins with another line.
        is_other = isinstance(error, exported_json.UnknownFormatError) and is_first and not _has_request(documents)
        at = f"{path}:{_lines_before(section) + line}" if line else path
        raise (OtherFileError if is_other else InputError)(f"{at}: {error}") from None
    if not line:
        raise InputError(f"{path}: empty: not {exported_json.FORMATS}")


def _has_request(documents: Iterator[tuple[int, Any]]) -> bool:
    try:
        return any(_is_request(document) for _, document in islice(documents, _MAX_LINES_TRIED))
    except CollectorError:
        return False


def _is_request(document: Any) -> bool:
    try:
        return any(True for _ in exported_json.requests(document))
    except CollectorError:
        return False


def _lines_before(section: Section) -> int:
    """Only an error needs it, and then a look at the file again costs less than to count in every section."""
    try:
        with section.path.open("rb") as file:
            return sum(
                _read(file, min(_PIECE, section.start - at)).count(b"\n") for at in range(0, section.start, _PIECE)
            )
    except OSError as error:
        raise _unreadable(section.path, error) from None


def _uncompressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises DecodeError where the first says that they are compressed, which is neither JSON nor OTLP."""
    first = next(pieces, b"")
    if first.startswith(b"\x1f\x8b"):
        raise DecodeError(
            "compressed with gzip; its name has to end in .gz, and what comes through a pipe has to be unpacked"
        )
    # The Collector's file exporter writes the size of each message before it, in four bytes.
    bodies = (first, first[4:]) if first.startswith(b"\0") else (first,)
    for beginning, method in _BEGINNINGS.items():
        if any(body.startswith(beginning) for body in bodies):
            raise DecodeError(_not_read(method))
    if first:
        yield first
        yield from pieces


def _text(pieces: Iterator[bytes]) -> Iterator[str]:
    first = next(pieces, b"")
    decoder = codecs.getincrementaldecoder(json.detect_encoding(first))()
    try:
        yield decoder.decode(first)
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DecodeError(f"not JSON: {error}") from None


def _protobuf(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the resources of a request in several smaller ones, as they follow one another in the file.

    What is no protobuf is yielded as it is, for whoever reads it to say so.
    """
    rest: list[bytes] = []
    size, needed, is_any = 0, 0, False
    for piece in pieces:
        rest.append(piece)
        size += len(piece)
        if size < needed:
            continue
        message = b"".join(rest)
        whole, needed = _whole_fields(message)
        if needed - whole > _MAX_RESOURCE:
            raise InputError(f"{path}: the spans of one resource are larger than {_MAX_RESOURCE >> 20} MiB")
        if whole:
            is_any = True
            yield message[:whole]
        rest, size, needed = [message[whole:]], size - whole, needed - whole
    if size or not is_any:
        yield b"".join(rest)


def _whole_fields(message: bytes) -> tuple[int, int]:
    """Returns where the last whole field ends, and where the next one would."""
    at = 0
    try:
        while at < len(message):
            _, _, end = read_field(message, at)
            if end > len(message):
                return at, end
            at = end
    except IndexError:
        return at, at + _LONGEST_HEAD
    except ValueError:
        return len(message), 0
    return at, at


def _pieces(section: Section, on_read: OnRead) -> Iterator[bytes]:
    path, start, end = section
    try:
        with path.open("rb") as file:
            if start:  # a stream cannot be asked where it is, nor be read from somewhere else
                file.seek(start)
            opened = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            at = start
            while end is None or at < end:
                piece = _read(opened, _PIECE if end is None else min(_PIECE, end - at))
                if not piece:
                    break
                before, at = at, file.tell() if file.seekable() else at + len(piece)
                on_read(at - before)
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None


def _read(file: IO[bytes] | gzip.GzipFile, size: int) -> bytes:
    return file.read(size)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _is_otlp(path: Path) -> bool:
    return path.is_file() and path.name.removesuffix(".gz").endswith(_SUFFIXES)
