"""Options are validated once, and errors name the system and the option."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from scorers.options import Choices, Options, check_options, parse_options


class Sample(Options):
    """A model like the systems' own."""

    mode: str = "a"
    strict: bool = False
    limit: float = 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mod": "b"}, "sample has no option 'mod'; it has limit, mode, strict; did you mean mode"),
        ({"mode": 5}, "sample option 'mode' must be text, not 5"),
        ({"strict": "yes"}, "sample option 'strict' must be true or false, not 'yes'"),
        ({"limit": float("nan")}, "sample option 'limit' must be a finite number, not nan"),
        ({"mode": 1, "strict": 1}, "sample option 'mode' must .*; sample option 'strict' must"),
    ],
)
def test_the_error_names_the_invalid_option(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_options("sample", Sample, given)


class Lenient(Options):
    """Like a system that takes any text and later raises."""

    mode: Annotated[str | None, Choices("exact", "flexible")] = None


def test_a_rule_is_refused_a_value_that_the_original_only_trips_over() -> None:
    assert parse_options("lenient", Lenient, {"mode": "flexibel"}).mode == "flexibel"
    check_options("lenient", Lenient, {"mode": "flexible"})
    check_options("lenient", Lenient, {})
    with pytest.raises(ValueError, match="'mode' must be one of exact, flexible, not 'flexibel'"):
        check_options("lenient", Lenient, {"mode": "flexibel"})


def test_valid_options_are_parsed() -> None:
    assert parse_options("sample", Sample, {"limit": 1, "mode": "b"}) == Sample(limit=1.0, mode="b")


def test_options_cannot_be_changed() -> None:
    options = parse_options("sample", Sample, {})
    with pytest.raises(ValidationError):
        options.mode = "b"  # type: ignore[misc]


class Named(Options):
    """A model with an option that is no Python name, and one without a default."""

    class_: Annotated[str, Field(alias="class", description="the class of tools")]
    also: Annotated[str, Choices("a", "b"), Field(alias="alsoThis")] = "a"


def test_options_have_the_names_of_the_original() -> None:
    assert parse_options("named", Named, {"class": "x", "alsoThis": "b"}).class_ == "x"
    with pytest.raises(ValueError, match=r"^named needs the option 'class': the class of tools$"):
        parse_options("named", Named, {})
    with pytest.raises(ValueError, match=r"^named option 'alsoThis' must be one of a, b, not 'c'$"):
        check_options("named", Named, {"class": "x", "alsoThis": "c"})
    with pytest.raises(ValueError, match=r"has no option 'alsoThat'; it has alsoThis, class; did you mean alsoThis\?"):
        parse_options("named", Named, {"class": "x", "alsoThat": "a"})


def test_the_schema_of_an_option_lists_its_choices() -> None:
    schema = Named.model_json_schema()
    assert schema["properties"]["alsoThis"]["enum"] == ["a", "b"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["class"]


@pytest.mark.parametrize("value", ["a", "b", None])
def test_a_choice_is_no_mistake(value: object) -> None:
    assert Choices("a", "b").mistake(value) is None


@pytest.mark.parametrize("value", [1, ["a"], "A" * 10_000, {"a": 1}])
def test_any_other_value_is_a_mistake_that_is_short(value: object) -> None:
    mistake = Choices("a", "b").mistake(value)
    assert mistake is not None
    assert mistake.startswith("must be one of a, b, not ")
    assert len(mistake) < 160
