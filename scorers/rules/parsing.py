"""Parses plain data (as read from YAML) into rules, or reports every problem with its path and a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scorers.plugins import MATCHERS
from scorers.quoting import shorten
from scorers.rules import matchers
from scorers.rules import model as rules
from scorers.rules.model import MAX_RULES, RuleFile
from scorers.wording import nearest, plain_words

MAX_DEPTH = 64
MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its path inside the document (keys and list indices) and a message."""

    path: tuple[str | int, ...]
    message: str
    earlier: tuple[str | int, ...] = ()
    """The path of what it clashes with."""

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.message}"


class RuleError(ValueError):
    """The rules cannot be used; ``problems`` holds every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def format_path(path: Sequence[str | int]) -> str:
    """Returns the path in the form ``rules[0].expect.sequence[1]``."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return shown.lstrip(".") or "the document"


def parse_rules(data: object, pause: Callable[[], None] | None = None) -> RuleFile:
    """Parse a rule file. An empty document is a file without rules. Raises RuleError.

    A `Rule` in the place of a rule's data is taken as it is. ``pause`` is called for each rule, intent and test.
    """
    if data is None:
        return RuleFile()
    # Before pydantic, which recurses into the data.
    if _too_deep(data):
        raise RuleError([Problem((), f"nested deeper than {MAX_DEPTH} levels")])
    try:
        # Without `pause` the file is validated in one piece: there is nobody to wait for.
        return RuleFile.model_validate(_entry_by_entry(data, pause) if pause is not None else data)
    except ValidationError as error:
        # A wrong file of ten thousand rules makes as many problems, and nobody reads beyond the first hundred.
        found = [_problem(details, data) for details in error.errors(include_url=False)[:MAX_PROBLEMS]]
        # Several of pydantic's errors may be one mistake: paths in the document have no union tags or shorthands.
        raise RuleError(list(dict.fromkeys(found))) from None


def _entry_by_entry(data: object, pause: Callable[[], None]) -> object:
    """Returns the data with parsed entries for those that can be parsed: the whole file at once may take seconds."""
    if not isinstance(data, Mapping):
        return data
    return {
        key: [_parsed(_ENTRIES[key], entry, pause) for entry in value[:MAX_RULES]] + value[MAX_RULES:]
        if key in _ENTRIES and isinstance(value, list)
        else value
        for key, value in data.items()
    }


def _parsed(model: type[BaseModel], entry: object, pause: Callable[[], None]) -> object:
    pause()
    try:
        return model.model_validate(entry)
    except ValidationError:
        return entry  # refused once more with the file, which says where it is


_ENTRIES: Mapping[object, type[BaseModel]] = {"rules": rules.Rule, "intents": rules.Intent, "tests": rules.RuleTest}


def _too_deep(data: object) -> bool:
    # Level by level, since recursion would fail on the very data that must be refused.
    level: list[object] = [data]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(item: object) -> Sequence[object]:
    if isinstance(item, Mapping):
        return list(item.values())
    return item if isinstance(item, list) else ()


# For an unknown key, the suggestions are the fields of the model at that path, given by the union tag or the parent key.
_MODELS: dict[str, type[BaseModel]] = {
    **{f"<{key}>": model for key, model in rules.ELEMENT_MODELS.items()},
    **{
        f"<{name}>": model
        for name, model in vars(matchers).items()
        if isinstance(model, type) and issubclass(model, BaseModel)
    },
    "<regex>": matchers.Regex,
    "rules": rules.Rule,
    "match": rules.Match,
    "expect": rules.Expect,
    "tools": rules.Tool,
    "constraints": rules.Constraint,
    "intents": rules.Intent,
    "tests": rules.RuleTest,
    "calls": rules.RuleTestCall,
    "parallel": rules.RuleTestCall,
    **dict.fromkeys(rules.CONSTRAINTS_OF_ONE, rules.Times),
    **dict.fromkeys(rules.CONSTRAINTS_OF_TWO, rules.Tool),
}


def _known_keys(loc: tuple[str | int, ...]) -> list[str]:
    owner = next((part for part in reversed(loc) if isinstance(part, str)), None)
    model = RuleFile if owner is None else _MODELS.get(owner)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _problem(details: ErrorDetails, data: object) -> Problem:
    loc, kind, given = details["loc"], details["type"], details["input"]
    path = _document_path(loc, data)
    if kind == "extra_forbidden":
        key = str(loc[-1])
        hint = nearest(key, _known_keys(loc[:-1])) or _hint(loc[:-1], key)
        return Problem(path, f"unknown key {key}{hint}")
    if kind == "missing" and len(loc) > 1 and loc[-2] in rules.CONSTRAINTS_OF_TWO:
        return Problem(path, f"is missing; {loc[-2]} takes two tools")
    if kind == "tuple_type":  # nothing else has a fixed length
        return Problem(path, f"must be a list; {loc[-1]} takes two tools")
    if kind == "missing":
        return Problem(path, f"{loc[-1]} is missing" if isinstance(loc[-1], str) else "is missing")
    if not path and kind in {"model_type", "model_attributes_type", "dict_type"}:
        return Problem(path, "must be a mapping with the keys rules, intents and tests")
    if kind == "duplicate_name":
        clash = details["ctx"]
        message = f"{clash['list']} must have different names, and one before is named {clash['name']} too"
        return Problem((clash["list"], clash["index"], "name"), message, (clash["list"], clash["first"], "name"))
    message = plain_words(details)
    if kind in {"unknown_element", "unknown_matcher"} and isinstance(given, Mapping):
        known = list(rules.ELEMENT_MODELS) if kind == "unknown_element" else [*matchers.MATCHER_KEYS, *MATCHERS]
        message += next((hint for key in given if (hint := nearest(str(key), known))), "") or _as_tool(kind, given)
    return Problem(path, message)


def _as_tool(kind: str, given: Mapping[object, object]) -> str:
    """Returns how to write an element that is written as a call of a test is: ``{name: {arguments}}``."""
    if kind != "unknown_element" or len(given) != 1:
        return ""
    ((name, arguments),) = given.items()
    is_call = isinstance(arguments, Mapping) and name not in rules.Tool.model_fields
    return f"; write {{tool: {shorten(str(name))}, arguments: {{...}}}}" if is_call else ""


def _hint(owner: tuple[str | int, ...], key: str) -> str:
    if owner[-1:] == ("match",):
        return f"; an attribute of spans goes under attributes: {{{key}: ...}}"
    if "repeat" in owner[-2:] and key in ("min", "max"):
        return f"; {key} goes beside repeat: {{repeat: ..., {key}: ...}}"
    known = _known_keys(owner)
    listed = f"; known are {', '.join(known)}" if known else ""
    return next((f"; {key} goes {place}" for place, other in _places(owner) if key in _known_keys(other)), listed)


def _places(owner: tuple[str | int, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield where else a key in a rule, or in its ``expect``, may belong: in words, and as what `_known_keys` takes."""
    if owner[:1] != ("rules",):
        return
    if len(owner) == 2:
        yield "under expect", ("expect",)
        yield "under match", ("match",)
    elif owner[2:] == ("expect",):
        yield "beside expect", ("rules",)
    yield "beside rules", ()


def _document_path(loc: tuple[str | int, ...], data: object) -> tuple[str | int, ...]:
    """Returns the part of pydantic's location that exists in the document: no union tags, no fields of expanded shorthands."""
    path: list[str | int] = []
    for position, part in enumerate(loc):
        inside = _child(data, part)
        if inside is not _NOTHING:
            data = inside
            path.append(part)
        elif position == len(loc) - 1 and isinstance(part, int):
            path.append(part)  # an item that is missing
    return tuple(path)


_NOTHING = object()


def _child(data: object, part: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(part, _NOTHING)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return _NOTHING
