"""What the published scorers share: typed options, a scoring function, a label.

A module defines its options (a subclass of `Options`) and a function ``(options, expected, actual) -> Score``.
`make_scorer` turns them into a `Scorer`, which parses the calls and refuses arguments that are nested too deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from scorers.calls import Call, parse_calls
from scorers.rules.parsing import nearest, plain_words
from scorers.score import Outcome, Score
from scorers.work import Work

_PAIR_COST = 5
_CHARS_PER_UNIT = 32
_COMPARISONS = "the comparison of the calls with the expected ones"


class OriginalError(ValueError):
    """The original raises on this input, so there is no score."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that an option has where the original takes any text: ``mode: Annotated[str, Choices("a", "b")]``.

    A rule with another value is refused when it is loaded; a scorer made without a rule does what the original does.
    """

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core_schema), "enum": list(self.values)}

    def mistake(self, value: object) -> str | None:
        """Returns what is wrong with a value, with the nearest of those there are; None if it is one of them."""
        if value is None or value in self.values:
            return None
        return f"must be one of {', '.join(self.values)}, not {value!r:.100}{nearest(str(value), self.values)}"


class Options(BaseModel):
    """Options of a system, under the names the original uses. Unknown options and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield option and message for each value that the original takes without an effect that anyone can want."""
        for name, field in type(self).model_fields.items():
            for choices in field.metadata:
                if isinstance(choices, Choices) and (mistake := choices.mistake(getattr(self, name))) is not None:
                    yield field.alias or name, mistake


class Scorer(Protocol):
    """A scorer of plain calls ``{"tool", "args"?, ...}``. It raises where there is no score."""

    def __call__(
        self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        """Score the actual calls against the expected ones. Where ``work`` is given, it is not exceeded: WorkLimitError."""


OptionsT = TypeVar("OptionsT", bound=Options)


def parse_options(name: str, model: type[OptionsT], options: Mapping[str, Any]) -> OptionsT:
    """Validate the options of system ``name``. Raises `ValueError` naming every invalid option."""
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        raise ValueError("; ".join(_option_error(name, model, details) for details in error.errors())) from None


def check_options(name: str, model: type[OptionsT], options: Mapping[str, Any]) -> None:
    """Raise `ValueError` naming every option that a rule cannot mean, which may be more than the original refuses."""
    mistakes = list(parse_options(name, model, options).mistakes())
    if mistakes:
        raise ValueError("; ".join(f"{name} option {option!r} {message}" for option, message in mistakes))


Spend: TypeAlias = Callable[[OptionsT, list[Call], list[Call], Work], None]


@dataclass(frozen=True, slots=True)
class CallScorer(Generic[OptionsT]):
    """The scorer of a system. It raises `ValueError` for arguments that are nested too deep."""

    options: OptionsT
    score: Callable[[OptionsT, list[Call], list[Call]], Score]
    spend: Spend[OptionsT] | None = None
    reads_expected: bool = True
    """False if the options say all that it expects: in a rule it needs no pattern."""

    def __call__(
        self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]], work: Work | None = None
    ) -> Score:
        """Score the actual calls against the expected ones."""
        try:
            wanted, made = parse_calls(expected, "expected"), parse_calls(actual, "actual")
            if work is not None:
                spend_on_comparisons(wanted, made, work)
                if self.spend is not None:
                    self.spend(self.options, wanted, made, work)
            return self.score(self.options, wanted, made)
        except RecursionError:
            raise ValueError("the arguments are nested too deep to compare") from None


def make_scorer(
    options: OptionsT,
    score: Callable[[OptionsT, list[Call], list[Call]], Score],
    spend: Spend[OptionsT] | None = None,
    *,
    reads_expected: bool = True,
) -> Scorer:
    """Returns the scorer of a system.

    ``spend`` spends the work that the system needs, if that is more than comparing each expected call with each actual one.
    """
    return CallScorer(options, score, spend, reads_expected)


def spend_on_comparisons(one: Sequence[Call], other: Sequence[Call], work: Work) -> None:
    """Spend the work of comparing each call with each other one. Raises WorkLimitError or RecursionError."""
    ours, theirs = _sizes(one, work), _sizes(other, work)
    work.spend(_PAIR_COST * len(one) * len(other), _COMPARISONS)
    for tool, sizes in ours.items():
        # Arguments are compared between calls of one tool, and no longer than the smaller of the two.
        made = theirs.get(tool, ())
        work.spend(min(sum(sizes) * len(made), sum(made) * len(sizes)), _COMPARISONS)


def _sizes(calls: Sequence[Call], work: Work) -> Mapping[str, list[int]]:
    sizes: dict[str, list[int]] = {}
    for call in calls:
        before = work.left
        _spend_on_value(call.args, work)
        _spend_on_value(call.output, work)
        sizes.setdefault(call.tool, []).append(before - work.left)
    return sizes


def _spend_on_value(value: Any, work: Work) -> None:
    """Spend the work of one look at a value."""
    if isinstance(value, str):
        work.spend(1 + len(value) // _CHARS_PER_UNIT, _COMPARISONS)
        return
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    work.spend(1 + 2 * len(inside), _COMPARISONS)
    for item in inside:
        _spend_on_value(item, work)


def labelled_score(
    value: float | None,
    explanation: str,
    details: Mapping[str, Any],
    *,
    passed: bool | None = None,
    outcomes: Sequence[Outcome] = (),
    missing: Sequence[str] = (),
) -> Score:
    """Returns a Score labelled as the original decides. Where it does not decide (``passed`` is None), only 1 passes."""
    if passed is None:
        passed = value == 1.0
    return Score(value, "pass" if passed else "fail", explanation, outcomes, missing, details)


def _option_error(name: str, model: type[Options], error: ErrorDetails) -> str:
    """One of pydantic's errors as a clause: the system, the option and what is wrong with it."""
    path = ".".join(str(part) for part in error["loc"]) or "options"
    if error["type"] == "extra_forbidden":
        known = sorted(field.alias or key for key, field in model.model_fields.items())
        return f"{name} has no option {path!r}; it has {', '.join(known) or 'none'}{nearest(path, known)}"
    if error["type"] == "missing" and len(error["loc"]) == 1:
        description = next(
            (field.description for key, field in model.model_fields.items() if path in (key, field.alias)), ""
        )
        return f"{name} needs the option {path!r}" + (f": {description}" if description else "")
    return f"{name} option {path!r} {plain_words(error)}"
