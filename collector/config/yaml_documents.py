"""Reads YAML files as plain data with line numbers. The only module that reads YAML.

Errors are reported as ``file:line: path: what is wrong and how to fix it``, all errors of a file at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.reader import ReaderError
from yaml.resolver import Resolver

from collector.errors import ConfigError, UnreadableError
from collector.files import read_file, read_regular_file, walk
from scorers.quoting import shorten

Where = tuple[str | int, ...]

MAX_BYTES = 4 << 20
"""The largest YAML file that is read."""
_MAX_NODES = 200_000  # values of a YAML file, aliases expanded
_MAX_BITS = 1_000  # of a whole number: of more no float can be made, nor in the end a text
_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$?\$\{")


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a YAML file, the line number of every path in it, and a digest of the file."""

    path: Path
    data: Any
    lines: Mapping[Where, int]
    digest: str
    misread: Mapping[Where, tuple[str, bool | int | float | str]]
    """The values that YAML hardly reads as they are meant (``no``, ``01234``, ``1e3``): as written, and as read."""
    unreplaced: Mapping[Where, str]
    """The texts of a file without an environment that ask for a variable: ``${env:NAME}``."""

    def place(self, where: Where) -> str:
        """Returns ``file:line`` of ``where``, or of its nearest ancestor that has a line."""
        while where and where not in self.lines:
            where = where[:-1]
        return f"{self.path}:{self.lines.get(where, 1)}"

    def error(self, mistakes: Iterable[tuple[Where, str]]) -> ConfigError:
        """Returns an error with one line for each mistake."""
        return ConfigError(
            "\n".join(f"{self.place(where)}: {'.'.join(map(str, where)) or 'file'}: {what}" for where, what in mistakes)
        )


def load_yaml(
    path: Path, environment: Mapping[str, str] | None = None, pause: Callable[[], None] | None = None
) -> Document:
    """Read a YAML file, replacing ``${env:NAME}`` and ``${env:NAME:-default}`` if an environment is given; ``$${`` is ``${``.

    With an environment it is a configuration, which is read once and may come from a pipe: ``--config <(...)``.
    ``pause`` is called for each value, so that reading a large file on a thread lets others run.
    Raises ConfigError if the file cannot be read, is not YAML, repeats a key or asks for what is not set or no variable.
    """
    try:
        # Rules are read again while the collector runs: a pipe would block, or be empty the second time.
        read = read_regular_file if environment is None else read_file
        content = read(path, MAX_BYTES)
        root = _compose(content.decode("utf-8"), pause)
        reader = _Reader(path, environment, pause)
        data = reader.read(root, ()) if root else {}
        if isinstance(root, yaml.MappingNode):
            for _, value in root.value:
                let_go(value.value, pause)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file in that encoding") from None
    except ReaderError as error:
        line = content.decode("utf-8").count("\n", 0, error.position) + 1
        message = f"the character U+{error.character:04X}; remove it, or write it as an escape in double quotes"
        raise ConfigError(f"{path}:{line}: not YAML: {message}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        number = mark.line if mark else 0
        written = "".join(content.decode("utf-8").splitlines()[number : number + 1])
        raise ConfigError(f"{path}:{number + 1}: not YAML: {_plain(problem, written)}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    return Document(path, data, reader.lines, digest_of(content), reader.misread, reader.unreplaced)


def digest_of(content: bytes) -> str:
    """Returns the digest by which a file is known."""
    return sha256(content).hexdigest()[:12]


def let_go(large: object, pause: Callable[[], None] | None) -> None:
    """Empty a list or a dict piece by piece where others are to go on: to free all of it at once may take long."""
    while pause is not None and isinstance(large, list | dict) and large:
        pause()
        _ = large.popitem() if isinstance(large, dict) else large.pop()


class _PausingComposer(Composer):
    """Makes nodes of a parser's events. Its recursion is bounded, as that of the one in C is not."""

    pause: Callable[[], None] | None = None

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Returns the next node."""
        if self.pause is not None:
            self.pause()
        return super().compose_node(parent, index)


class _Loader(_PausingComposer, yaml.SafeLoader):
    """Entirely in Python."""


if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _FastLoader(_PausingComposer, CParser, SafeConstructor, Resolver):
        """Its parser is in C: ten times as fast."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)

    _LOADERS: tuple[type[_Loader | _FastLoader], ...] = (_FastLoader, _Loader)
else:
    _LOADERS = (_Loader,)


def _compose(text: str, pause: Callable[[], None] | None) -> yaml.Node | None:
    """Returns the document as nodes. What the fast parser refuses is read again by the other, whose words are known."""
    for loader in _LOADERS:
        parser = loader(text)
        parser.pause = pause
        try:
            return parser.get_single_node()
        except yaml.YAMLError:
            if loader is _Loader:
                raise
        finally:
            parser.dispose()
    return None


_YAML_WORDS = (
    (
        "mapping values are not allowed",
        "a text that holds `: ` must be in quotes, this line is indented too far, or a `-` or `:` above lacks a space after it",
    ),
    (
        "found unknown escape character",
        "in double quotes a backslash begins an escape; write it twice, or put a text such as a regex in single quotes",
    ),
    ("could not find expected ':'", "a key must be followed by `: `"),
    ("'\\t' that cannot start", "a tab; indent with spaces"),
    ("that cannot start any token", "a text that begins with one of @ ` % | > & must be in quotes"),
    ("expected <block end>", "this line does not line up with those above it; check its indentation"),
    ("while scanning a quoted scalar", "a quote is not closed"),
    ("found unexpected end of stream", "a quote is not closed"),
    ("expected alphabetic or numeric character", "a text that begins with * or & must be in quotes"),
    (
        "found undefined alias",
        "a text that begins with * must be in quotes, unless an & before it names what it repeats",
    ),
    ("expected ',' or ']'", "a list in brackets must end with ], and have a comma between its entries"),
    ("expected ',' or '}'", "a mapping in braces must end with }, and have a comma between its entries"),
    ("expected the node content", "a bracket or brace is not closed, or a value is missing"),
    ("but found another document", "only one document is allowed in a file; remove the line ---"),
)

_DATE = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"
_ODD_NUMBER = re.compile(r"[-+]?0[\dxb]|.*[_:]")
"""Octal, hexadecimal, binary, to the base of 60 (``12:30``), or with a ``_``: the number has other digits than its text."""
_POWER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""A number to JSON, and to YAML 1.1 only with a dot and a sign: ``1.0e+3``."""


def _is_json(value: object) -> bool:
    """Whether a value can be one of JSON, as arguments of calls are: `.inf` and `.nan` cannot."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or value.bit_length() <= _MAX_BITS


def _is_misread(node: yaml.Node, value: object) -> bool:
    """Whether a value without quotes was hardly meant as what YAML reads."""
    if isinstance(value, bool):
        return node.value.lower() not in ("true", "false")
    if isinstance(value, int | float):
        return _ODD_NUMBER.match(node.value) is not None
    is_plain = isinstance(node, yaml.ScalarNode) and not node.style
    return isinstance(value, str) and is_plain and _POWER.fullmatch(node.value) is not None


def _plain(problem: str, line: str) -> str:
    """Returns the YAML parser's words in plain ones where these are known; ``line`` is where it gave up."""
    plain = next((plain for words, plain in _YAML_WORDS if words in problem), problem)
    # A variable has braces of its own, which end those around it.
    return (
        f'{plain}; put a variable among braces in quotes: "${{env:NAME}}"'
        if "${" in line and "braces" in plain
        else plain
    )


class _Reader:
    """Builds plain data from YAML nodes. Its recursion is bounded, because the YAML parser's is."""

    def __init__(self, path: Path, environment: Mapping[str, str] | None, pause: Callable[[], None] | None) -> None:
        self.lines: dict[Where, int] = {}
        self.misread: dict[Where, tuple[str, bool | int | float | str]] = {}
        self.unreplaced: dict[Where, str] = {}
        self._path, self._environment, self._pause = path, environment, pause
        self._scalars = yaml.SafeLoader("")

    def read(self, node: yaml.Node, where: Where) -> Any:
        if self._pause is not None:
            self._pause()
        line = node.start_mark.line + 1
        self.lines[where] = line
        # Counted as they are built, aliases anew each time: a few lines of them can stand for billions of values.
        if len(self.lines) > _MAX_NODES:
            raise ConfigError(f"{self._path}:{line}: more than {_MAX_NODES} values; aliases of aliases?")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*where, index)) for index, item in enumerate(node.value)]
        value = self._scalar(node, line)
        if _is_misread(node, value):
            self.misread[where] = node.value, value
        if isinstance(value, str):
            if self._environment is not None:
                # After parsing, so that a variable is always one text, whatever characters it has.
                value = _ENVIRONMENT.sub(lambda found: self._variable(found, line), value)
            elif "${env:" in value:
                self.unreplaced[where] = value
            return self._text(value, line)
        return value

    def _scalar(self, node: yaml.Node, line: int) -> Any:
        """Returns the text, number or nothing. PyYAML's constructors of lists and mappings would lose the lines."""
        if node.tag == _DATE:
            return node.value  # JSON, in which the arguments of calls are, has dates as text
        # They raise whatever befalls them: at `0x_`, `!!bool foo`.
        with contextlib.suppress(ValueError, LookupError, AttributeError, OverflowError):
            value = self._scalars.construct_object(node)
            if _is_json(value):
                return value
        message = f"{shorten(str(node.value))!r} is no number that can be read; put a text in quotes"
        raise ConfigError(f"{self._path}:{line}: {message}")

    def _text(self, value: str, line: int) -> str:
        """Returns the text with pairs of surrogates, as JSON writes an emoji, as one character."""
        try:
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            message = "not valid Unicode: half of a surrogate pair; write the character itself"
            raise ConfigError(f"{self._path}:{line}: {message}") from None

    def _mapping(self, node: yaml.MappingNode, where: Where) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{self._path}:{line}: a key must be a text, not a list or a mapping")
            key = self._text(key_node.value, line)  # as written: `on: x` has the key "on", not true
            if key_node.tag == _MERGE:
                raise ConfigError(f"{self._path}:{line}: << merges nothing here; write the keys out")
            if key in result:
                raise ConfigError(f"{self._path}:{line}: {'.'.join(map(str, (*where, key)))}: duplicate key; keep one")
            result[key] = self.read(value_node, (*where, key))
            self.lines[(*where, key)] = line
        return result

    def _variable(self, found: re.Match[str], line: int) -> str:
        if found[0] == "$${":
            return "${"
        name, default = found.groups()
        if name is None:  # such as ${NAME}, which the OpenTelemetry Collector takes for ${env:NAME}
            message = "only ${env:NAME} and ${env:NAME:-default} are replaced; write $${ for a ${ that is none of them"
            raise ConfigError(f"{self._path}:{line}: {message}")
        value = (self._environment or {}).get(name, default)
        if value is None:
            raise ConfigError(
                f"{self._path}:{line}: environment variable {name} is not set; use ${{env:{name}:-default}} for a default"
            )
        return value


def rule_paths(paths: Iterable[Path]) -> list[Path]:
    """Returns each YAML file among ``paths`` or below them, once, in a stable order. Raises ConfigError for a missing path."""
    found: dict[Path, Path] = {}
    for path in paths:
        try:
            for item in _rule_files(path):
                # By the file itself, so that a file which is named and lies in a named folder is read once.
                found.setdefault(item.resolve(), item)
        except OSError as error:
            raise UnreadableError(f"{error.filename or path}: cannot be read: {error.strerror}") from None
    return list(found.values())


def named_rule_paths(paths: Sequence[Path]) -> list[Path]:
    """The same for paths that somebody names to score by: each has to have rules, as without one nothing is ever wrong."""
    for path in paths:
        if not rule_paths([path]):
            raise UnreadableError(f"{path}: no rule file (.yaml or .yml) in it or below")
    return rule_paths(paths)


def _rule_files(path: Path) -> list[Path]:
    if path.is_dir():
        # Not hidden ones: a mounted ConfigMap has each file twice, once in a folder such as ``..2026_11_21``.
        return sorted(item for items in walk(path, hidden=False) for item in items if _is_rule_file(item))
    if path.exists():
        return [path]
    raise UnreadableError(f"{path}: no such rule file or folder")


def rule_versions(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Returns path, modification time and size of each rule file; nothing where they cannot be read."""
    try:
        return [(str(path), (stat := path.stat()).st_mtime_ns, stat.st_size) for path in rule_paths(paths)]
    except (ConfigError, OSError):
        return []


def _is_rule_file(path: Path) -> bool:
    return path.suffix in {".yaml", ".yml"} and path.is_file()


def environment() -> Mapping[str, str]:
    """Returns the environment of the process, for ``load_yaml``."""
    return os.environ
