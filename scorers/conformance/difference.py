"""The difference between what a rule expects and what a run called, side by side: the one text in which every output says why.

::

      expected                       called
    ~ lookup(id={"regex": "^ord_"})  lookup(id="7")  wrong arguments; lookup.id: "7" does not match ^ord_
    - check_policy                                   missing
    !                                delete_order    forbidden

Names and values come from agents: they are shortened, and unprintable characters are escaped. Values of arguments are shown
only where the caller asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple
from unicodedata import category, east_asian_width

from pydantic import BaseModel

from scorers.conformance.diagnosis import Diagnosis
from scorers.quoting import json_line, shorten
from scorers.rules.mismatches import Mismatch, show_value
from scorers.rules.model import Tool
from scorers.rules.names import format_name
from scorers.score import Outcome
from scorers.trajectory import ToolCall

MAX_ROWS: Final = 100
"""Lines of a text; of a longer one only those that differ are shown, and no more than this."""
_MAX_CELL: Final = 120
_MAX_ARGUMENTS: Final = 8
_FREE: Final = frozenset({"matched", "unscored"})
_SYMBOLS: Final = {
    "matched": "=",
    "wrong_arguments": "~",
    "out_of_order": "~",
    "missing": "-",
    "extra": "+",
    "forbidden": "!",
    "broken": "!",
    "unscored": " ",
}


class DifferenceRow(NamedTuple):
    """An expected call beside the call made instead, or a constraint or limit that is broken.

    ``name`` is the tool or constraint it is about, ``expected`` that as the rule has it, "" for a call that is not expected.
    ``why_free`` says why a call is not scored.
    """

    outcome: Outcome | Literal["missing", "broken"]
    name: str
    expected: str = ""
    call: ToolCall | None = None
    mismatches: Sequence[Mismatch] = ()
    why_free: str = ""

    @property
    def differs(self) -> bool:
        """Whether it is anything but a call that is right or allowed."""
        return self.outcome not in _FREE

    def reasons(self) -> Iterator[str]:
        """Yield what differs in a few words without values: ``wrong arguments lookup_order.order_id``."""
        kind = self.outcome.replace("_", " ")
        if self.mismatches:
            yield from (f"{kind} {shorten(self.name)}.{shorten(one.path)}" for one in self.mismatches)
        else:
            yield f"{kind} {shorten(self.name, _MAX_CELL)}"

    def note(self, *, values: bool) -> str:
        """Returns the outcome as a note beside the row, with the arguments that differ, or why the call is not scored."""
        kind = self.outcome.replace("_", " ")
        shown = [f"{shorten(self.name)}.{one.sentence(values=values)}" for one in self.mismatches[:_MAX_ARGUMENTS]]
        return "; ".join([kind, *shown, *([self.why_free] if self.why_free else ())])


@dataclass(frozen=True, slots=True)
class Difference:
    """Expected and actual calls in the order of the run; a missing call stands where it was due."""

    rows: Sequence[DifferenceRow]

    @property
    def reasons(self) -> tuple[str, ...]:
        """What differs, each once and without values: equal for runs that fail for the same reason."""
        return tuple(dict.fromkeys(reason for row in self.rows if row.differs for reason in row.reasons()))

    def data(self, *, values: bool) -> list[dict[str, Any]]:
        """Returns a mapping for each row: ``outcome``, ``expected`` and ``called`` where there are such, and a ``note``."""
        return [_data(row, values=values) for row in self.rows]

    def lines(self, *, values: bool) -> list[str]:
        """Returns it in two columns, with a heading; nothing if there is nothing to compare."""
        return columns(self.data(values=values))


def columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the rows of `Difference.data` as lines in two columns, with a heading; nothing if there are none."""
    if not rows:
        return []
    # The rows that are right tell nothing where there are many, and would hide the one that differs.
    kept = rows if len(rows) <= MAX_ROWS else [row for row in rows if row["outcome"] not in _FREE][:MAX_ROWS]
    cells = [(" ", "expected", "called", "")]
    cells += [(_SYMBOLS[row["outcome"]], *(row.get(key, "") for key in ("expected", "called", "note"))) for row in kept]
    first, second = (max(_width(cell[at]) for cell in cells) for at in (1, 2))
    lines = [
        f"  {symbol} {_padded(left, first)}  {_padded(right, second)}  {note}".rstrip()
        for symbol, left, right, note in cells
    ]
    return lines if len(kept) == len(rows) else [*lines, f"    ... and {len(rows) - len(kept)} more"]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Returns how many columns of a terminal the text takes: two for a Chinese character, none for an accent of its own."""
    if text.isascii():
        return len(text)
    return sum(1 + (east_asian_width(char) in "WF") for char in text if category(char) not in _COMBINING)


_COMBINING = frozenset({"Mn", "Me"})


def show_tool(tool: Tool) -> str:
    """Returns a call that a rule expects, as a line shows it."""
    if tool.arguments is None:
        return shorten(format_name(tool.tool))
    shown = [f"{key}={shorten(json_line(_plain(pattern)), 60)}" for key, pattern in tool.arguments.items()]
    return _cell(format_name(tool.tool), shown)


def compare(
    tools: Sequence[tuple[str, str]],
    diagnosis: Diagnosis,
    calls: Sequence[ToolCall],
    broken: Iterable[str],
    find_mismatches: Callable[[int, Mapping[str, Any]], Sequence[Mismatch]],
    *,
    has_pattern: bool,
) -> Difference:
    """Returns the difference that a diagnosis found.

    ``tools`` are the names of the pattern's tools, each with its `show_tool`; ``broken`` are the constraints and limits that
    the run breaks. ``find_mismatches`` tells which arguments of a call are not those of the tool with this number.
    Raises what that raises.
    """
    partners = zip(diagnosis.expected, diagnosis.partners, strict=True)
    expected = {call: tool for tool, call in partners if call is not None}
    expected |= {call: diagnosis.expected[gap] for gap, call in diagnosis.substitutes.items()}
    missing, counted = _missing_before(tools, diagnosis), set(diagnosis.counted)
    rows: list[DifferenceRow] = []
    for index, (call, outcome) in enumerate(zip(calls, diagnosis.outcomes, strict=True)):
        if missing:
            rows += missing.get(index, ())
        tool = expected.get(index)
        if outcome == "unscored":
            rows.append(DifferenceRow(outcome, call.name, "", call, (), _why_free(call, index in counted, has_pattern)))
        elif tool is None:
            rows.append(DifferenceRow(outcome, call.name, "", call))
        # Arguments are tested again only here: a diagnosis keeps which tools fit, not what failed.
        elif outcome == "wrong_arguments" and call.arguments is not None:
            rows.append(DifferenceRow(outcome, *tools[tool], call, find_mismatches(tool, call.arguments)))
        else:
            rows.append(DifferenceRow(outcome, *tools[tool], call))
    rows += missing.get(len(calls), ())
    rows += [DifferenceRow("broken", text, shorten(text, _MAX_CELL)) for text in broken]
    return Difference(rows)


def _why_free(call: ToolCall, is_counted: bool, has_pattern: bool) -> str:
    if not call.executed:
        return "not executed"
    if not is_counted:
        return "failed and was retried"
    return "allowed as an extra" if has_pattern else ""  # without one, no call is extra


def _missing_before(tools: Sequence[tuple[str, str]], diagnosis: Diagnosis) -> Mapping[int, list[DifferenceRow]]:
    """The missing calls, by the index of the call before which they were due."""
    missing: dict[int, list[DifferenceRow]] = {}
    # Backwards, since a missing call is due before the next call that the alignment matched.
    next_call = len(diagnosis.calls)
    for index in range(len(diagnosis.expected) - 1, -1, -1):
        call = diagnosis.partners[index]
        if call is not None:
            next_call = call
        elif index not in diagnosis.substitutes:
            missing.setdefault(next_call, []).insert(0, DifferenceRow("missing", *tools[diagnosis.expected[index]]))
    return missing


def _data(row: DifferenceRow, *, values: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"outcome": row.outcome}
    if row.expected:
        data["expected"] = row.expected
    if row.call is not None:
        data["called"] = _called(row.call, values=values)
    if row.outcome != "matched":
        data["note"] = row.note(values=values)
    return data


def _called(call: ToolCall, *, values: bool) -> str:
    if not values or call.arguments is None:
        return shorten(call.name)
    given = list(call.arguments.items())[:_MAX_ARGUMENTS]
    return _cell(call.name, [f"{shorten(key)}={show_value(value)}" for key, value in given])


def _cell(name: str, arguments: Sequence[str]) -> str:
    return shorten(f"{shorten(name)}({', '.join(arguments)})", _MAX_CELL)


def _plain(pattern: Any) -> Any:
    return pattern.model_dump(by_alias=True, exclude_unset=True) if isinstance(pattern, BaseModel) else pattern
