"""promptfoo's assertions on trajectories (npm promptfoo 0.121.20): 1 or 0. ``not: true`` is the prefix ``not-``.

::

    tool-used         ``value`` is a tool or a list, all of which were called (with ``not``: none of them);
                      or ``{name, min, max}``: how many calls match (at least one by default)
    tool-sequence     ``value`` is a list of tools, called in this order, or ``{steps, mode}``;
                      mode exact allows no other calls
    tool-args-match   ``value`` is ``{name, args, mode, ignore, defaults}``: any call of the tool has these arguments;
                      partial (default): it may have more, at every depth; exact: no others, but for those that
                      ``ignore`` names and those equal to ``defaults``
    step-count        ``value`` is ``{type, name, min, max}``: how many steps match

Names are globs of ``*`` and ``?``, ignore case, and may also match the name of the span, ``execute_tool <name>``. Calls of a
shell (exec_command, local_shell, shell) with a command are steps of type command, not tool. ``expected`` is ignored.

A step is any span to the original, and here a call of a tool, so that step-count needs ``type: tool`` or ``command``. Templates
in ``value`` are not rendered, and its reason is not published, because it repeats arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pydantic import Field

from scorers.call_scorer import Scorer, labelled_score, make_scorer
from scorers.calls import ABSENT, Call
from scorers.options import Options, parse_options
from scorers.rules.regexes import compile_regex, escape
from scorers.score import Score
from scorers.systems.equality import kind, number
from scorers.systems.pairing import in_order_fit
from scorers.work import Work

NAME = "promptfoo"
VERSION = "promptfoo@0.121.20"

Assertion = Literal["tool-used", "tool-sequence", "tool-args-match", "step-count"]
StepType = Literal["tool", "command"]


class PromptfooOptions(Options):
    """``value`` is that of the assertion, in each of the original's forms."""

    assertion: Assertion = Field(description="which of tool-used, tool-sequence, tool-args-match, step-count")
    value: Any = Field(description="what the assertion looks for")
    inverse: bool = Field(default=False, alias="not")


OPTIONS: Final = PromptfooOptions


class _Named(Options):
    name: str = ""
    pattern: str = ""

    def glob(self) -> str:
        return self.pattern or self.name


class _Counted(_Named):
    min: float | None = None
    max: float | None = None


class _Steps(_Counted):
    type: StepType | list[StepType] = Field(description="tool or command: a run has the steps of its tools only")


class _Sequence(Options):
    steps: list[str | _Named] = Field(min_length=1)
    mode: Literal["in_order", "exact"] = "in_order"


class _Arguments(_Named):
    args: Any = ABSENT
    arguments: Any = ABSENT
    mode: Literal["partial", "exact"] = "partial"
    defaults: dict[str, Any] = Field(default={})
    ignore: str | list[str] = Field(default=[])


class _Step(NamedTuple):
    """A call as promptfoo sees it."""

    type: StepType
    aliases: tuple[str, ...]
    args: Any


ModelT = TypeVar("ModelT", bound=Options)
Check = Callable[[list[_Step]], tuple[bool, str]]
"""Whether the steps pass, and what was found."""


def create(**options: Any) -> Scorer:
    """Returns the scorer of one assertion. Raises `ValueError` for invalid options, or a value that it cannot have."""
    parsed = parse_options(NAME, PromptfooOptions, options)
    # Compiled once: globs are the same for all runs, and wrong values are refused when the rule is loaded.
    check = _CHECKS[parsed.assertion](parsed)
    size = len(str(parsed.value))

    def score(_options: PromptfooOptions, _expected: list[Call], actual: list[Call]) -> Score:
        passed, found = check([step for call in actual if (step := _step(call)) is not None])
        return labelled_score(float(passed), f"Scores {passed:d}: {found}", {"pass": passed})

    def spend(_options: PromptfooOptions, _expected: list[Call], actual: list[Call], work: Work) -> None:
        work.spend(sum(20 + len(call.tool) // 8 for call in actual) * (1 + size // 4), "the patterns of promptfoo")

    return make_scorer(parsed, score, spend, reads_expected=False, asked=_asked(parsed))


def _asked(options: PromptfooOptions) -> Sequence[Mapping[str, Any]]:
    """The arguments that are asked for, of a tool or of a shell, which are a command to it."""
    value = options.value
    steps = value if isinstance(value, list) else value.get("steps", [value]) if isinstance(value, Mapping) else [value]
    if options.assertion == "tool-args-match":
        parsed = _parse(options, _Arguments, value)
        args = parsed.arguments if parsed.args is ABSENT else parsed.args
        return (args, {**args, **parsed.defaults}) if isinstance(args, Mapping) else ()
    globs = [step if isinstance(step, str) else step.get("pattern") or step.get("name", "") for step in steps]
    return [{"command": glob.replace("*", "x").replace("?", "x")} for glob in globs] + [{"command": "\N{NOT SIGN}"}]


def _step(call: Call) -> _Step | None:
    name = call.tool.strip()
    if not name:
        return None
    span = f"execute_tool {call.tool}"
    command = _command(call.args) if name.lower() in _SHELLS else None
    if command is not None:
        return _Step("command", (span, command, name, command.split()[0]), call.args)
    return _Step("tool", (span, name), call.args)


def _command(arguments: Any) -> str | None:
    if not isinstance(arguments, Mapping):
        return None
    key = next((key for key in ("cmd", "command", "commands") if key in arguments), None)
    command = arguments[key] if key else None
    if isinstance(command, list):
        parts = [str(part).strip() for part in command]
        command = ("; " if key == "commands" else " ").join(part for part in parts if part)
    return (command.strip() or None) if isinstance(command, str) else None


_SHELLS = frozenset({"exec_command", "local_shell", "shell"})


def _tool_used(options: PromptfooOptions) -> Check:
    if isinstance(options.value, Mapping):
        return _count(options, _parse(options, _Counted, options.value), ("tool",), least=1)
    wanted = [options.value] if isinstance(options.value, str) else options.value
    if not isinstance(wanted, list) or not wanted or not all(isinstance(one, str) and one for one in wanted):
        raise ValueError(f"{NAME} option 'value': tool-used needs a tool, a list of tools, or a mapping with name")
    matchers = [_Matcher(one) for one in wanted]

    def check(steps: list[_Step]) -> tuple[bool, str]:
        used = sum(any(step.type == "tool" and matcher.fits(step) for step in steps) for matcher in matchers)
        good = used == 0 if options.inverse else used == len(matchers)
        return good, f"{used} of {len(matchers)} tools were called{', none may be' if options.inverse else ''}"

    return check


def _step_count(options: PromptfooOptions) -> Check:
    parsed = _parse(options, _Steps, options.value, needs_name=False)
    if parsed.min is None and parsed.max is None:
        raise ValueError(f"{NAME} option 'value': step-count needs min or max")
    types = parsed.type if isinstance(parsed.type, list) else [parsed.type]
    return _count(options, parsed, types, least=-math.inf)


def _count(options: PromptfooOptions, parsed: _Counted, types: Sequence[str], least: float) -> Check:
    matcher = _Matcher(parsed.glob()) if parsed.glob() else None
    least = least if parsed.min is None else parsed.min
    most = math.inf if parsed.max is None else parsed.max

    def check(steps: list[_Step]) -> tuple[bool, str]:
        count = sum(step.type in types and (matcher is None or matcher.fits(step)) for step in steps)
        return (
            least <= count <= most
        ) != options.inverse, f"{count} calls match, {least:g} to {most:g} are asked for{_not(options)}"

    return check


def _tool_sequence(options: PromptfooOptions) -> Check:
    value = {"steps": options.value} if isinstance(options.value, list) else options.value
    parsed = _parse(options, _Sequence, value)
    globs = [step if isinstance(step, str) else step.glob() for step in parsed.steps]
    if not all(globs):
        raise ValueError(f"{NAME} option 'value': each step of tool-sequence needs a name or a pattern")
    matchers = [_Matcher(glob) for glob in globs]

    def check(steps: list[_Step]) -> tuple[bool, str]:
        tools = [step for step in steps if step.type == "tool"]
        if parsed.mode == "exact":
            found = sum(matcher.fits(step) for matcher, step in zip(matchers, tools, strict=False))
        else:
            found = len(in_order_fit(matchers, tools, _Matcher.fits))
        good = found == len(matchers) and (parsed.mode == "in_order" or len(tools) == len(matchers))
        return (
            good != options.inverse,
            f"{found} of {len(matchers)} tools found {parsed.mode}, {len(tools)} called{_not(options)}",
        )

    return check


def _tool_args_match(options: PromptfooOptions) -> Check:
    parsed = _parse(options, _Arguments, options.value)
    expected = parsed.arguments if parsed.args is ABSENT else parsed.args
    if expected is ABSENT:
        raise ValueError(f"{NAME} option 'value': tool-args-match needs args")
    ignored = [_Ignored(entry) for entry in ([parsed.ignore] if isinstance(parsed.ignore, str) else parsed.ignore)]
    matcher, wanted = _Matcher(parsed.glob()), _without(expected, ignored, {})
    fits = _same if parsed.mode == "exact" else _part_of

    def check(steps: list[_Step]) -> tuple[bool, str]:
        matching = [step for step in steps if step.type == "tool" and step.args is not ABSENT and matcher.fits(step)]
        found = any(fits(wanted, _without(step.args, ignored, parsed.defaults)) for step in matching)
        shown = "one" if found else "none"
        return (
            found != options.inverse,
            f"{shown} of {len(matching)} calls with arguments has those asked for{_not(options)}",
        )

    return check


_CHECKS: dict[Assertion, Callable[[PromptfooOptions], Check]] = {
    "tool-used": _tool_used,
    "tool-sequence": _tool_sequence,
    "tool-args-match": _tool_args_match,
    "step-count": _step_count,
}


def _not(options: PromptfooOptions) -> str:
    return ", which must not be so" if options.inverse else ""


def _parse(options: PromptfooOptions, model: type[ModelT], value: Any, *, needs_name: bool = True) -> ModelT:
    if not isinstance(value, Mapping):
        raise ValueError(f"{NAME} option 'value': {options.assertion} needs a mapping")
    parsed = parse_options(f"{NAME} {options.assertion}", model, value)
    if needs_name and isinstance(parsed, _Named) and not parsed.glob():
        raise ValueError(f"{NAME} option 'value': {options.assertion} needs a name or a pattern")
    return parsed


class _Matcher:
    """A glob as JavaScript's regular expressions match it: by UTF-16 units, ignoring case, without ends of lines."""

    def __init__(self, glob: str) -> None:
        # RE2, since the original's engine backtracks: many stars in a glob make it slow on a hostile name.
        parts = {"*": _ANY + "*", "?": _ANY}
        self._pattern = compile_regex("".join(parts.get(unit) or escape(unit) for unit in _units(glob)))

    def fits(self, step: _Step) -> bool:
        return any(map(self.matches, step.aliases))

    def matches(self, text: str) -> bool:
        return self._pattern.fullmatch(_units(text)) is not None


_ANY = "[^\\n\\r\u2028\u2029]"


def _units(text: str) -> str:
    """The UTF-16 units of a text in upper case, a character each; halves of surrogate pairs are moved to a private area."""
    data = text.encode("utf-16-le", "surrogatepass")
    numbers = (data[at] | data[at + 1] << 8 for at in range(0, len(data), 2))
    return "".join(chr(0x100000 + unit) if 0xD800 <= unit < 0xE000 else _upper(chr(unit)) for unit in numbers)


def _upper(character: str) -> str:
    """The upper case of one unit, unless it is several, or ASCII for what is not."""
    upper = character.upper()
    return upper if len(upper) == 1 and (ord(upper) >= 128 or ord(character) < 128) else character


class _Ignored:
    """An entry of ``ignore``: the name of an argument, or a glob."""

    def __init__(self, entry: str) -> None:
        if not entry.strip():
            raise ValueError(f"{NAME} option 'value': ignore needs names of arguments")
        self._entry = entry
        self._matcher = _Matcher(entry) if "*" in entry or "?" in entry else None

    def matches(self, key: str) -> bool:
        return key == self._entry or (self._matcher is not None and self._matcher.matches(key))


def _without(value: Any, ignored: Sequence[_Ignored], defaults: Mapping[str, Any]) -> Any:
    """The value without ignored keys, and those with their default."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: item
        for key, item in value.items()
        if not any(entry.matches(key) for entry in ignored) and not (key in defaults and _same(item, defaults[key]))
    }


def _part_of(expected: Any, made: Any) -> bool:
    """Whether objects have the expected keys, at every depth; arrays are of one length."""
    if isinstance(expected, Mapping):
        if not isinstance(made, Mapping):
            return False
        return all(key in made and _part_of(value, made[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(made, list) and len(made) == len(expected) and all(map(_part_of, expected, made))
    return _same(expected, made)


def _same(one: Any, other: Any) -> bool:
    """``isDeepStrictEqual``: as ``===``, but 0 differs from -0."""
    which = kind(one)
    if which != kind(other):
        return False
    if which == "object":
        return len(one) == len(other) and all(key in other and _same(value, other[key]) for key, value in one.items())
    if which == "array":
        return len(one) == len(other) and all(map(_same, one, other))
    if which == "number":
        ours, theirs = number(one), number(other)
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return bool(one == other)
