"""Typed options of scorers and matchers, and what is wrong with those of a rule, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from scorers.wording import nearest, plain_words


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
        # None is an option that was not given.
        if value is None or value in self.values:
            return None
        return f"must be one of {', '.join(self.values)}, not {value!r:.100}{nearest(str(value), self.values)}"


class Options(BaseModel):
    """Options of a system, under the names the original uses. Unknown options and wrong types are refused."""

    # Strict: pydantic would otherwise take a quoted "true" or "3" for a boolean or a number.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield option and message for each value that the original takes without an effect that anyone can want."""
        for name, field in type(self).model_fields.items():
            for choices in field.metadata:
                if isinstance(choices, Choices) and (mistake := choices.mistake(getattr(self, name))) is not None:
                    yield field.alias or name, mistake


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
