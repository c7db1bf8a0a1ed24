"""Regular expressions by RE2, which take linear time for every text and every expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final

import re2

MAX_REGEX_MEMORY = 1 << 20
"""Bytes that the engine may use for one expression. A larger one is refused when the rule is loaded."""

_SEARCH_COST: Final = 30
_CHARS_PER_UNIT: Final = 32
_COUNTED_COST: Final = 2_000
_CLASS_COST: Final = 1_000  # a class of Unicode has hundreds of ranges


def compile_regex(text: str, memory: int = MAX_REGEX_MEMORY) -> Any:
    """Returns the compiled expression. Raises ValueError if RE2 does not support it, or needs more than ``memory`` bytes."""
    options = re2.Options()
    # RE2 writes to standard error by itself; the exception says the same.
    options.log_errors = False
    options.max_mem = memory
    options.never_capture = True  # nobody asks for groups, and their search can take ten times as long
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ValueError(
            f"not a regular expression in RE2 syntax (no look-around, no back-references): {reason}"
        ) from None


def is_match(expression: Any, text: str) -> bool:
    """Whether the expression matches anywhere in the text. Surrogates, which UTF-8 cannot encode, are read as ``?``."""
    return expression.search(text.encode("utf-8", "replace")) is not None


def compile_test(text: str) -> Callable[[str], bool]:
    """Returns what `is_match` says of the expression. Raises ValueError as `compile_regex` does.

    Literal texts such as ``^ord_`` are compared, in a tenth of the time of a search and without a change of threads.
    """
    literal = _LITERAL.fullmatch(text)
    if literal is None:
        expression = compile_regex(text)
        return lambda value: is_match(expression, value)
    wanted = _ESCAPED.sub(r"\1", literal["text"])
    if literal["start"] is not None and literal["end"] is not None:
        return lambda value: value == wanted
    if literal["start"] is not None:
        return lambda value: value.startswith(wanted)
    if literal["end"] is not None:
        return lambda value: value.endswith(wanted)
    return lambda value: wanted in value


# Without the question mark, as which surrogates are read (`is_match`), and of ASCII alone.
_LITERAL: Final = re.compile(
    r"""(?P<start>\^|\\A)?
        (?P<text>(?:[A-Za-z0-9_ !"#%&',/:;<=>@`~-]|\\[ !-/:->@\[-^`{-~])*)
        (?P<end>\$|\\z)?""",
    re.VERBOSE,
)
_ESCAPED: Final = re.compile(r"\\(.)")


def common_beginning(text: str) -> str:
    """Returns what every text that the expression matches begins with, as far as the engine tells; "" if it is not anchored."""
    anchor = next((anchor for anchor in ("^", r"\A") if text.startswith(anchor)), None)
    # An alternative beside the anchored one, or a repeated anchor, need not begin where the text does.
    if anchor is None or "|" in text or text[len(anchor) :].startswith(("*", "?", "+", "{")):
        return ""
    # The engine's range takes what the boundary of a word asks of the character after a match for a part of it: of `^ab?\b` it
    # says that all matches begin with `ab`.
    if r"\b" in text or r"\B" in text:
        return ""
    try:
        # The engine tells the least and the greatest text that can match: what these share, all matches begin with.
        lowest, highest = compile_regex(text).possiblematchrange(_MAX_BEGINNING)
    except re2.error:  # it matches any text
        return ""
    shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(lowest, highest, strict=False)))
    # Cut between bytes, perhaps inside a character, of which the rest is then left out.
    beginning: bytes = lowest[:shared]
    return beginning.decode("utf-8", "ignore")


_MAX_BEGINNING: Final = 100


def common_part(text: str) -> str:
    """Returns a text that every text which the expression matches contains; "" if it has groups, alternatives or flags."""
    at, longest, run = 0, "", ""
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return ""
        at, character, times = part.end(), part["character"], part["times"]
        if character is not None and times in (None, "+", "+?"):
            run += character[-1]
        if character is None or times is not None:
            longest, run = max(longest, run, key=len), ""
    return max(longest, run, key=len)


# Outside of groups. A question mark stands for none: surrogates are matched as such (`is_match`).
_PART: Final = re.compile(
    r"""(?: (?P<character> \\[^\w?] | [^\\.^$|?*+()\[\]{}] )
          | \\[dDwWsSbBAz?] | [.^$] | \[ \^? \]? (?: [^\\\[\]] | \\. )* \]
        ) (?P<times> (?: [*?+] | \{ \d+ (?: , \d* )? \} ) \?? )?""",
    re.VERBOSE | re.DOTALL,
)


def compile_cost(text: str) -> int:
    """Returns the units of work of compiling an expression, within a memory of 64 KiB."""
    return len(text) + _COUNTED_COST * text.count("{") + _CLASS_COST * (text.count(r"\p") + text.count(r"\P"))


def steps_of(expression: Any) -> int:
    """Returns how many steps a search may take for each character."""
    # RE2 turns an expression into an automaton while it reads the text, and then takes constant time for a character. Only
    # counted repetitions make automata that outgrow its memory: then each character takes time for each instruction.
    steps: int = expression.programsize if "{" in expression.pattern else 1
    return steps


def search_cost(steps: int, length: int) -> int:
    """Returns the units of work of one search in a text of this length, by an expression that takes so many ``steps``."""
    return _SEARCH_COST + length * steps // _CHARS_PER_UNIT


def escape(text: str) -> str:
    """Returns an expression that matches exactly this text."""
    escaped: str = re2.escape(text)
    return escaped
