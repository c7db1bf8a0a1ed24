"""Rule files as pydantic models: what a run must look like, and which runs a rule applies to.

Strings are shorthands: ``- check_policy`` is ``- tool: check_policy``. Unknown keys are refused. Nothing here scores:
`scorers.conformance` interprets the expectation, `selection` the match, and `parsing` turns data into these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    StrictBool,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from scorers.rules.matchers import ArgumentPattern, Name, RegexText, Share, Strict, Text, Written

MAX_RULES = 10_000
MAX_ELEMENTS = 500
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
Count = Annotated[int, Field(strict=True, ge=0, le=100_000)]


class _OrText(Written):
    """A model that may also be written as plain text, in the JSON Schema too."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, super().__get_pydantic_json_schema__(core_schema, handler)]}


class Tool(_OrText):
    """One call of a tool, with any arguments if none are given. ``subset`` allows further keys, ``exact`` does not."""

    tool: Name
    arguments: dict[str, ArgumentPattern] | None = None
    arguments_mode: Literal["subset", "exact"] = "subset"

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        return {"tool": data} if isinstance(data, str) else data


class Sequence(Written):
    """These elements, one after the other."""

    sequence: Annotated[list[Element], Field(max_length=MAX_ELEMENTS)]


class AnyOrder(Written):
    """All of these elements; their calls may interleave."""

    any_order: Annotated[list[Element], Field(max_length=MAX_ELEMENTS)]


class OneOf(Written):
    """Exactly one of these elements."""

    one_of: Annotated[list[Element], Field(min_length=1, max_length=MAX_ELEMENTS)]


class Optional(Written):
    """The element, or nothing."""

    optional: Element


def _require_order(least: int, most: int | None) -> None:  # 0 at most would be an element that is never there
    if most is not None and most < max(least, 1):
        raise ValueError(f"max {most} is below min {max(least, 1)}")


class Repeat(Written):
    """The element at least ``min`` and at most ``max`` times in a row; without ``max`` any number of times."""

    repeat: Element
    min: Count = 1
    max: Count | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Repeat:
        _require_order(self.min, self.max)
        return self


# The key that identifies the kind of an element. It is also the tag of the union, so that an error inside an element is
# reported once, for that kind, and not once for each possible kind.
ELEMENT_MODELS: dict[str, type[Strict]] = {
    "tool": Tool,
    "sequence": Sequence,
    "any_order": AnyOrder,
    "one_of": OneOf,
    "optional": Optional,
    "repeat": Repeat,
}


def _element_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "<tool>"
    if isinstance(value, BaseModel):
        return next((f"<{key}>" for key, model in ELEMENT_MODELS.items() if type(value) is model), None)
    if isinstance(value, dict):
        return next((f"<{key}>" for key in value if isinstance(key, str) and key in ELEMENT_MODELS), None)
    return None


Element = Annotated[
    Annotated[Tool, Tag("<tool>")]
    | Annotated[Sequence, Tag("<sequence>")]
    | Annotated[AnyOrder, Tag("<any_order>")]
    | Annotated[OneOf, Tag("<one_of>")]
    | Annotated[Optional, Tag("<optional>")]
    | Annotated[Repeat, Tag("<repeat>")],
    Discriminator(
        _element_tag,
        custom_error_type="unknown_element",
        custom_error_message="an element is a tool's name or a mapping with one of the keys "
        + ", ".join(ELEMENT_MODELS),
    ),
]
"""One element of the pattern language."""

Mode = Literal["strict", "in_order", "any_order", "subset", "superset", "single_tool"]


class Expect(Written):
    """What a run must look like: one pattern (or a named mode with its tools), and limits on everything else.

    ``allow_extra`` names tools that may be called besides the pattern at no cost. ``forbid`` names tools that must not be
    called. Without a pattern every call that is not forbidden is allowed. ``retries: collapse`` counts a failed call and
    the call of the same tool in the next step as one.
    """

    tool: Name | None = None
    arguments: dict[str, ArgumentPattern] | None = None
    arguments_mode: Literal["subset", "exact"] = "subset"
    sequence: Annotated[list[Element], Field(max_length=MAX_ELEMENTS)] | None = None
    any_order: Annotated[list[Element], Field(max_length=MAX_ELEMENTS)] | None = None
    one_of: Annotated[list[Element], Field(min_length=1, max_length=MAX_ELEMENTS)] | None = None
    optional: Element | None = None
    repeat: Element | None = None
    min: Count = 1
    max: Count | None = None
    mode: Mode | None = None
    tools: Annotated[list[Tool], Field(max_length=MAX_ELEMENTS)] | None = None
    allow_extra: list[Name] = Field(default_factory=list)
    forbid: list[Name] = Field(default_factory=list)
    max_calls: Count | None = None
    max_errors: Count | None = None
    retries: Literal["count", "collapse"] = "count"

    @model_validator(mode="after")
    def _one_pattern(self) -> Expect:
        given = [key for key in (*ELEMENT_MODELS, "mode") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(
                f"only one pattern is allowed, but {' and '.join(given)} are given; nest them in a sequence"
            )
        if (self.mode is None) != (self.tools is None):
            raise ValueError("mode and tools go together: {mode: in_order, tools: [a, b]}")
        if self.mode == "single_tool" and len(self.tools or ()) != 1:
            raise ValueError("mode single_tool takes exactly one tool")
        self._require_owner(("arguments", "arguments_mode"), "tool")
        self._require_owner(("min", "max"), "repeat")
        _require_order(self.min, self.max)  # `element` does not validate
        return self

    def _require_owner(self, keys: tuple[str, ...], owner: str) -> None:
        stray = self.model_fields_set.intersection(keys)
        if stray and getattr(self, owner) is None:
            raise ValueError(f"{min(stray)} goes with {owner}")

    def element(self) -> Element | None:
        """Returns the pattern as one element; None if there is none or a named mode replaces it."""
        for key, model in ELEMENT_MODELS.items():
            if getattr(self, key) is not None:
                fields = {name: getattr(self, name) for name in model.model_fields}
                # Constructed without validation: the fields are those of this model, and were validated with it.
                return model.model_construct(**fields)  # type: ignore[return-value]
        return None


class Times(Tool):
    """A call of one tool and how often: ``{tool: refund_card, times: 1}``."""

    times: Count = 1


CONSTRAINTS_OF_ONE = ("existence", "absence", "exactly", "init", "last")
CONSTRAINTS_OF_TWO = ("response", "precedence", "succession", "chain_response", "not_after", "not_together")


class Constraint(Strict):
    """One declarative rule (the DECLARE family) over the calls of a run: exactly one of these keys."""

    existence: Times | None = None
    absence: Tool | None = None
    exactly: Times | None = None
    init: Tool | None = None
    last: Tool | None = None
    response: tuple[Tool, Tool] | None = None
    precedence: tuple[Tool, Tool] | None = None
    succession: tuple[Tool, Tool] | None = None
    chain_response: tuple[Tool, Tool] | None = None
    not_after: tuple[Tool, Tool] | None = None
    not_together: tuple[Tool, Tool] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Constraint:
        if len(self.model_fields_set) != 1:
            keys = ", ".join((*CONSTRAINTS_OF_ONE, *CONSTRAINTS_OF_TWO))
            raise ValueError(f"a constraint has exactly one of the keys {keys}")
        if getattr(self, self.template) is None:
            raise ValueError(
                f"{self.template} takes {'two tools' if self.template in CONSTRAINTS_OF_TWO else 'a tool'}"
            )
        return self

    @property
    def template(self) -> str:
        """The name of its template."""
        return next(iter(self.model_fields_set))


class Match(Written):
    """Which runs a rule applies to: all given keys must match; ``{}`` matches every run."""

    route: Name | None = None
    intent: Name | None = None
    agent: Name | None = None
    service: Name | None = None
    tenant: Name | None = None
    attributes: dict[str, Name] = Field(default_factory=dict)


class ScorerRef(BaseModel):
    """A scorer of a rule: its name, or ``{system: evalite, mode: flexible}`` with the scorer's own options.

    ``name`` is the name of its evaluations, by default that of the system; two scorers of a rule must differ in it.
    ``sample_rate`` is for scorers that ask a model: the share of the runs passed by the rule's other scorers that they
    judge. Runs that do not pass are always judged.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    system: Identifier
    name: Identifier | None = None
    sample_rate: Share | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        return {"system": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core_schema)]}

    @property
    def options(self) -> dict[str, Any]:
        """The scorer's own options."""
        return dict(self.model_extra or {})


class Rule(Written):
    """What runs of one kind must look like. ``pass`` is the lowest value that passes; the first scorer is primary.

    ``objective`` is the share of the runs that are to pass, such as 0.95. It changes no verdict: the console and alerts compare
    the accuracy with it.

    A shadow rule is scored in addition to the rule in force and never replaces it. ``schema: declared`` adds the evaluation
    ``declared_schema``: whether the arguments of all calls fit the schemas that the tool definitions in the trace declare.
    """

    model_config = ConfigDict(populate_by_name=True)
    name: Identifier
    description: str | None = None
    match: Match = Match()
    scope: Literal["run", "trace", "conversation"] = "run"
    expect: Expect | None = None
    constraints: list[Constraint] = Field(default_factory=list, max_length=MAX_ELEMENTS)
    scorers: list[ScorerRef] = Field(
        default_factory=lambda: [ScorerRef(system="trajectory")], min_length=1, max_length=50
    )
    pass_: Share = Field(1.0, alias="pass")
    objective: Annotated[float, Field(strict=True, gt=0.0, lt=1.0)] | None = None
    shadow: StrictBool = False
    schema_: Literal["declared"] | None = Field(None, alias="schema")

    @model_validator(mode="after")
    def _definitions_are_of_runs(self) -> Rule:
        if self.schema_ is not None and self.scope != "run":
            raise ValueError("schema: declared goes with scope: run, which knows the tools that were offered")
        if self.schema_ is not None and "declared_schema" in [ref.name or ref.system for ref in self.scorers]:
            raise ValueError("with schema: declared no scorer can be named declared_schema")
        return self

    @field_validator("scorers")
    @classmethod
    def _distinct_names(cls, refs: list[ScorerRef]) -> list[ScorerRef]:
        names = [ref.name or ref.system for ref in refs]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate:
            raise ValueError(f"two scorers are named {duplicate}; tell them apart with name: ...")
        return refs


class Intent(Written):
    """How to recognise an intent in the user's text if no attribute gives it.

    ``threshold`` is the lowest cosine similarity to one of the examples that counts: at 0.4 false positives are rare, at
    0.3 fewer intents are missed.
    """

    name: Identifier
    keywords: list[Text] = Field(default_factory=list)
    regex: RegexText | None = None
    examples: list[Text] = Field(default_factory=list, max_length=MAX_ELEMENTS)
    threshold: Share = 0.4


class RuleTestCall(Strict):
    """A call of a test: a name, ``{name: {arguments}}``, ``{tool, arguments, status}`` or ``{parallel: [...]}``.

    A bare name is a call whose arguments were not captured; ``{name: {}}`` is a call without arguments.
    """

    tool: Text | None = None
    arguments: dict[str, JsonValue] | None = None
    status: Literal["ok", "error", "unset"] = "unset"
    executed: StrictBool = True
    parallel: list[RuleTestCall] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"tool": data}
        if isinstance(data, dict) and len(data) == 1:
            ((key, value),) = data.items()
            return data if key in cls.model_fields else {"tool": key, "arguments": value}
        return data

    @model_validator(mode="after")
    def _call_or_group(self) -> RuleTestCall:
        if (self.tool is None) == (self.parallel is None):
            raise ValueError("a call is a tool's name, {name: {arguments}}, {tool: ..., ...} or {parallel: [...]}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        named = {"type": "object", "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, named, handler(core_schema)]}


class RuleTest(Written):
    """A test of a rule: calls, whether they pass, and optionally their score. Run by ``rightcall check``."""

    name: Text
    rule: Identifier
    calls: Annotated[list[RuleTestCall], Field(max_length=10_000)]
    passes: StrictBool
    score: Share | None = None
    context: dict[str, JsonValue] | None = None
    """If given, the rule must also be the one selected for a run with this route, intent, agent, ..."""


class RuleFile(Strict):
    """One rule file."""

    rules: list[Rule] = Field(default_factory=list, max_length=MAX_RULES)
    intents: list[Intent] = Field(default_factory=list, max_length=1_000)
    tests: list[RuleTest] = Field(default_factory=list, max_length=MAX_RULES)

    @model_validator(mode="after")
    def _distinct_names(self) -> RuleFile:
        # Metrics, tests and the console know a rule by its name.
        for kind, names in (("rules", [r.name for r in self.rules]), ("intents", [i.name for i in self.intents])):
            before: dict[str, int] = {}
            for index, name in enumerate(names):
                if (first := before.setdefault(name, index)) != index:
                    clash = {"list": kind, "name": name, "index": index, "first": first}
                    raise PydanticCustomError("duplicate_name", "two {list} are named {name}", clash)
        return self


for _model in (Sequence, AnyOrder, OneOf, Optional, Repeat, Expect, RuleTestCall):
    _model.model_rebuild()
