"""What every published scorer is made of: typed options, a scoring function, a verdict.

A module writes a model of its options (a subclass of `Options`) and a function ``(options, expected, actual) -> Score``;
`scorer` checks the options once and gives the callable that reads calls and bounds the depth of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from scorers.calls import Call, read_calls
from scorers.score import Outcome, Score


class OriginalError(ValueError):
    """The original raises on this input, so there is no score."""


class Options(BaseModel):
    """Options of a system, under the names the original gives them; unknown ones and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False)


class SystemScorer(Protocol):
    """What ``create`` gives."""

    def __call__(self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> Score:
        """Score the actual calls against the expected ones."""


Given = TypeVar("Given", bound=Options)


def read_options(name: str, model: type[Given], given: Mapping[str, Any]) -> Given:
    """Check the options of system ``name``. Raises `ValueError` naming every bad option."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise ValueError("; ".join(_complaint(name, model, one) for one in error.errors())) from None


def scorer(options: Given, score: Callable[[Given, list[Call], list[Call]], Score]) -> SystemScorer:
    """The callable of a system: ``score`` behind the reading of calls. Arguments nested too deep give a `ValueError`."""

    def call(*, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> Score:
        try:
            return score(options, read_calls(expected, "expected"), read_calls(actual, "actual"))
        except RecursionError:
            raise ValueError("the arguments are nested too deep to compare") from None

    return call


def verdict(
    value: float | None,
    explanation: str,
    details: Mapping[str, Any],
    *,
    passed: bool | None = None,
    outcomes: Sequence[Outcome] = (),
    missing: Sequence[str] = (),
) -> Score:
    """A Score labelled by the original's own verdict, or, where it has none (``passed`` is None), pass for a full 1."""
    good = value == 1.0 if passed is None else passed
    return Score(value, "pass" if good else "fail", explanation, outcomes, missing, details)


def _complaint(name: str, model: type[Options], error: Any) -> str:
    """One of pydantic's errors as a clause: system, option, what is wrong with it."""
    place = ".".join(str(part) for part in error["loc"]) or "options"
    if error["type"] == "extra_forbidden":
        known = sorted(field.alias or key for key, field in model.model_fields.items())
        return f"{name} has no option {place!r}; it has {', '.join(known) or 'none'}"
    return f"{name} option {place!r}: {error['msg']}"
