"""The models of matchers for tool names and for single arguments. `arguments` does the matching.

A mapping is always a matcher: an unknown key is an error, never silently a literal. A literal mapping is written
``{exact: {...}}`` (all keys) or ``{subset: {...}}`` (at least these keys).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from scorers.plugins import MATCHERS
from scorers.rules.globs import GLOB_CHARACTERS, compile_glob
from scorers.rules.json_schema import compile_schema
from scorers.rules.regexes import compile_regex
from scorers.wording import as_given

MAX_TEXT = 2_000


class Strict(BaseModel):
    """The base of every model of a rule file: unknown keys are errors, and instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Written(Strict):
    """A model whose keys must have a value: one that is left blank must not count as if nothing was asked for."""

    @field_validator("*", mode="before")
    @classmethod
    def _has_value(cls, value: Any) -> Any:
        if value is None:
            raise PydanticCustomError("no_value", "has no value; write one, or remove the key")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        for field in handler.resolve_ref_schema(schema)["properties"].values():
            if "anyOf" in field:
                field["anyOf"] = [choice for choice in field["anyOf"] if choice != {"type": "null"}]
        return schema


def _checked_regex(text: str) -> str:
    compile_regex(text)
    return text


def _checked_schema(schema: dict[str, Any]) -> dict[str, Any]:
    compile_schema(schema)
    return schema


Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
RegexText = Annotated[Text, AfterValidator(_checked_regex)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)]


class Regex(Strict):
    """``{regex: "^ord_"}``: found anywhere in the text unless anchored with ``^`` and ``$``."""

    regex: RegexText


class Fuzzy(Strict):
    """``{fuzzy: "new york", threshold: 0.8, ratio: token_sort}``: a text at least this similar (0 to 1), ignoring case."""

    fuzzy: Text
    threshold: Share = 0.8
    ratio: Literal["ratio", "partial", "token_sort", "token_set", "weighted"] = "ratio"


class Semantic(Strict):
    """``{semantic: "cancel my order", threshold: 0.8}``: a text that means the same (cosine of embeddings)."""

    semantic: Text
    threshold: Share = 0.8


class Range(Written):
    """``{min: 1, max: 10}``: a number within the bounds, inclusive; either may be left out."""

    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {as_given(self.min)} is above max {as_given(self.max)}")
        return self


class Approx(Strict):
    """``{approx: 9.99, tolerance: 0.01}``: a number at most ``tolerance`` away."""

    approx: Number
    tolerance: Annotated[Number, Field(ge=0.0)] = 1e-6


class OneOfValues(Strict):
    """``{one_of: [EUR, USD]}``: any of these literals or matchers."""

    one_of: Annotated[list[ArgumentPattern], Field(min_length=1, max_length=1_000)]


class Present(Strict):
    """``{present: true}``: the key is there, whatever its value; ``false``: it is not."""

    present: StrictBool


class Ignore(Strict):
    """``{ignore: true}``: any value, or none. Useful where no further keys are allowed."""

    ignore: Literal[True]


class Schema(Strict):
    """``{schema: {...}}``: the value satisfies the JSON Schema (draft 2020-12 unless it names another)."""

    json_schema: Annotated[dict[str, JsonValue], AfterValidator(_checked_schema)] = Field(alias="schema")
    model_config = ConfigDict(populate_by_name=True)


class Subset(Strict):
    """``{subset: {city: Paris}}``: a mapping with at least these keys, each a literal or a matcher."""

    subset: dict[str, ArgumentPattern]


class Exact(Strict):
    """``{exact: {city: Paris}}``: exactly this JSON value."""

    exact: JsonValue


class Plugged(Strict):
    """``{iban: {country: DE}}``: a matcher of an installed package with its options; ``{iban: true}`` where it needs none."""

    name: str
    options: dict[str, JsonValue]
    package: str

    @model_validator(mode="before")
    @classmethod
    def _from_key(cls, data: Any) -> Any:
        # Tools are also built in code, of arguments that were parsed before.
        if isinstance(data, Plugged):
            return data
        (name, *others) = data
        if others:
            raise ValueError(f"{name} is a matcher of its own: {others[0]} does not go with it")
        options = {} if data[name] is True else data[name]
        if not isinstance(options, dict):
            raise ValueError(f"{name} takes a mapping of options, or true")
        # Only checked here: the rule keeps the options as written, so that it can be written again as it was.
        MATCHERS[name].parse(options)
        # The package is kept for the digest: another version may match otherwise.
        return {"name": name, "options": options, "package": MATCHERS[name].package}

    @model_serializer
    def _as_written(self) -> dict[str, JsonValue]:
        return {self.name: self.options or True}


MATCHER_MODELS: dict[str, type[Strict]] = {
    "regex": Regex,
    "fuzzy": Fuzzy,
    "semantic": Semantic,
    "min": Range,
    "max": Range,
    "approx": Approx,
    "one_of": OneOfValues,
    "present": Present,
    "ignore": Ignore,
    "schema": Schema,
    "subset": Subset,
    "exact": Exact,
}
MATCHER_KEYS = tuple(MATCHER_MODELS)


def _matcher_tag(value: Any) -> str | None:
    if isinstance(value, BaseModel):
        return f"<{type(value).__name__}>"
    if not isinstance(value, dict):
        return "<literal>"
    for key in value:
        if isinstance(key, str) and key in MATCHER_MODELS:
            return f"<{MATCHER_MODELS[key].__name__}>"
        if isinstance(key, str) and key in MATCHERS:
            return "<Plugged>"
    return None


ArgumentPattern = Annotated[
    Annotated[StrictStr | StrictInt | StrictFloat | StrictBool | list[JsonValue] | None, Tag("<literal>")]
    | Annotated[Regex, Tag("<Regex>")]
    | Annotated[Fuzzy, Tag("<Fuzzy>")]
    | Annotated[Semantic, Tag("<Semantic>")]
    | Annotated[Range, Tag("<Range>")]
    | Annotated[Approx, Tag("<Approx>")]
    | Annotated[OneOfValues, Tag("<OneOfValues>")]
    | Annotated[Present, Tag("<Present>")]
    | Annotated[Ignore, Tag("<Ignore>")]
    | Annotated[Schema, Tag("<Schema>")]
    | Annotated[Subset, Tag("<Subset>")]
    | Annotated[Exact, Tag("<Exact>")]
    | Annotated[Plugged, Tag("<Plugged>")],
    Discriminator(
        _matcher_tag,
        custom_error_type="unknown_matcher",
        custom_error_message="a mapping here is a matcher with one of the keys "
        + ", ".join(MATCHER_KEYS)
        + "; write a literal mapping as {exact: {...}} or {subset: {...}}",
    ),
]
"""One argument: a literal (exactly this value) or a matcher."""


def _checked_glob(text: str) -> str:
    if not GLOB_CHARACTERS.isdisjoint(text):
        compile_glob(text)
    return text


def _name_tag(value: Any) -> str:
    return "<regex>" if isinstance(value, dict | Regex) else "<text>"


Name = Annotated[
    Annotated[Text, AfterValidator(_checked_glob), Tag("<text>")] | Annotated[Regex, Tag("<regex>")],
    Discriminator(_name_tag),
]
"""A name: exact, a glob if it contains ``*``, ``?`` or ``[``, or ``{regex: ...}``."""


def plugged_matchers(value: Any) -> Iterator[Plugged]:
    """Yield the matchers of other packages in a rule or several, at any depth."""
    if isinstance(value, Plugged):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from plugged_matchers(getattr(value, name))
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from plugged_matchers(item)


OneOfValues.model_rebuild()
Subset.model_rebuild()
