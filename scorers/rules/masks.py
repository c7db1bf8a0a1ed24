"""Values that were not captured: a tracer or a collector wrote a mask in their place, or cut them.

A matcher that would need such a value can tell neither that it holds nor that it fails. A literal equal to the text itself is
matched as text, and so can be expected. A hash in the place of a value is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from scorers.rules.arguments import MAX_COMPARED_TEXT, MISSING, Embed, Predicate, compile_argument, equal
from scorers.rules.matchers import ArgumentPattern, Exact, Ignore, OneOfValues, Present, Subset
from scorers.work import Work

MAX_LOOKED_AT: Final = 1_000
"""Values inside one argument that are searched for masks. What is beyond counts as captured."""
_TAIL: Final = 100  # characters, among which a note that a text was cut is looked for
_BEGINNINGS: Final = (
    "***",
    "[",
    "<",
    "__",
    "(",
    "EDACTED",
    "edacted",
)  # nearly all texts have none, which is quickly seen
_CHARS_PER_UNIT: Final = 256  # of work, that are searched for these
_SOUGHT_PER_UNIT: Final = 2  # characters, in which a mask is sought

_SOMEWHERE: Final = re.compile(
    r"\*{4,}"  # redaction processor of the OpenTelemetry Collector
    r"|__REDACTED__"  # OpenInference
    r"|[\[<](?i:redacted|masked|filtered|sensitive_data)(?:[ _:-][^\[\]<>]{0,60})?[\]>]"  # Sentry, Langfuse, Datadog, own
    r"|\[Scrubbed due to [^\[\]]{0,100}\]"  # Logfire
    # Presidio's names of entities
    r"|<(?:PERSON|EMAIL_ADDRESS|PHONE_NUMBER|LOCATION|CREDIT_CARD|IBAN_CODE|IP_ADDRESS|DATE_TIME|NRP|CRYPTO|URL"
    r"|MEDICAL_LICENSE|U[SK]_[A-Z_]{1,30})>"
)
_WHOLE: Final = re.compile(r"\*{3}|(?i:redacted)")
_CUT: Final = re.compile(r"(?i:[\[(<]truncated[^\[\]()<>]{0,40}[\])>])$")

_SEEN: Final = (Present, Ignore)
"""Matchers that look at no value."""

Verdict = bool | None
"""Whether a value is as expected; None if that depends on what a mask stands for."""
Judge = Callable[[Any, Work], Verdict]
"""Judges a value. It spends the work that depends on the value."""


def is_masked(text: str, work: Work) -> bool:
    """Whether part of the text, or all of it, was replaced by a mask or cut off. Raises WorkLimitError."""
    beginning = text[:MAX_COMPARED_TEXT]
    work.spend(1 + len(beginning) // _CHARS_PER_UNIT, "masks in arguments")
    if not _has_beginning(beginning):  # nor is the note of a cut in what was looked at
        return len(text) > MAX_COMPARED_TEXT and _CUT.search(text[-_TAIL:]) is not None
    work.spend(len(beginning) // _SOUGHT_PER_UNIT, "masks in arguments")
    return (
        _SOMEWHERE.search(beginning) is not None
        or _WHOLE.fullmatch(text) is not None
        or _CUT.search(text[-_TAIL:]) is not None
    )


def _has_beginning(text: str) -> bool:
    # A loop and not `any`: this runs for every value that a matcher accepted.
    for beginning in _BEGINNINGS:  # noqa: SIM110
        if beginning in text:
            return True
    return False


def has_mask(value: Any, work: Work) -> bool:
    """Whether the value is masked, or anything inside it among the first `MAX_LOOKED_AT` values. Raises WorkLimitError."""
    if isinstance(value, str):
        return is_masked(value, work)
    if isinstance(value, int):  # quickly seen, unlike that it is no mapping
        return False
    if not isinstance(value, Mapping | list | tuple):
        return False
    left, waiting = MAX_LOOKED_AT, [value]
    while waiting:
        inner = waiting.pop()
        for item in inner.values() if isinstance(inner, Mapping) else inner:
            left -= 1
            if left < 0:
                return False
            if isinstance(item, str):
                if is_masked(item, work):
                    return True
            elif isinstance(item, Mapping | list | tuple):
                waiting.append(item)
    return False


def with_filled_masks(value: Any, models: Sequence[Any], filler: Any, work: Work, *, takes: bool = False) -> Any:
    """Returns the value with its masks replaced: by what the first model has there, if ``takes``, else by the filler.

    A mask that a model has in the same place is a text that is expected as it is, and stays. Raises WorkLimitError.
    """
    if isinstance(value, str):
        if not is_masked(value, work) or value in models:
            return value
        return models[0] if takes and models else filler
    if isinstance(value, Mapping):
        work.spend(1 + len(value), "masks in arguments")
        objects = [model for model in models if isinstance(model, Mapping)]
        filled = {}
        for key, item in value.items():
            inside = [model[key] for model in objects if key in model]
            filled[key] = with_filled_masks(item, inside, filler, work, takes=takes)
        return filled
    if isinstance(value, list | tuple):
        work.spend(1 + len(value), "masks in arguments")
        rows = [model for model in models if isinstance(model, list | tuple)]
        items = []
        for at, item in enumerate(value):
            inside = [row[at] for row in rows if at < len(row)]
            items.append(with_filled_masks(item, inside, filler, work, takes=takes))
        return items
    return value


class MaskedChoices:
    """As `Choices`, of which it takes the same, for calls with masked values: tells which tools a call has, or may have."""

    def __init__(
        self, choices: Sequence[tuple[int, Mapping[str, ArgumentPattern], str]], embed: Embed | None = None
    ) -> None:
        # Whether a value is there is seen behind a mask, and looking for one in long values takes long.
        self._keys = sorted(
            {key for _, patterns, _ in choices for key, pattern in patterns.items() if not isinstance(pattern, _SEEN)}
        )
        self._judges = [(bit, _judge_mapping(patterns, mode, embed)) for bit, patterns, mode in choices]

    def concern(self, arguments: Mapping[str, Any], work: Work) -> bool:
        """Whether an argument that a choice looks at is masked."""
        # A loop and not `any`: this runs for nearly every call that does not match.
        for key in self._keys:  # noqa: SIM110
            if key in arguments and has_mask(arguments[key], work):
                return True
        return False

    def matching(self, arguments: Mapping[str, Any], work: Work) -> tuple[int, int]:
        """Returns the bits of the choices that match, and of those of which masks leave it open."""
        matching = unknown = 0
        for bit, judge in self._judges:
            verdict = judge(arguments, work)
            if verdict:
                matching |= bit
            elif verdict is None:
                unknown |= bit
        return matching, unknown


def judge_argument(pattern: ArgumentPattern, embed: Embed | None = None) -> Judge:
    """Returns a function that tells whether a value, which may be `MISSING`, is as expected, or a mask leaves it open."""
    test = compile_argument(pattern, embed)
    if isinstance(pattern, _SEEN):
        return test
    if isinstance(pattern, OneOfValues):
        return _one_of([judge_argument(item, embed) for item in pattern.one_of])
    if isinstance(pattern, Subset):
        return _subset(_judge_mapping(pattern.subset, "subset", embed), test)
    if isinstance(pattern, Exact):
        expected = pattern.exact
        return lambda value, work: _same(expected, value, work)
    if isinstance(pattern, str | int | float | list | None):
        return lambda value, work: _same(pattern, value, work)
    return _of_test(test)


def _of_test(test: Predicate) -> Judge:
    # A mask that a matcher accepts is no evidence either: `.*` accepts every one.
    return lambda value, work: None if has_mask(value, work) else test(value, work)


def _one_of(judges: Sequence[Judge]) -> Judge:
    def judge(value: Any, work: Work) -> Verdict:
        open_verdict: Verdict = False
        for one in judges:
            verdict = one(value, work)
            if verdict:
                return True
            if verdict is None:
                open_verdict = None
        return open_verdict

    return judge


def _subset(inner: Judge, test: Predicate) -> Judge:
    def judge(value: Any, work: Work) -> Verdict:
        if isinstance(value, Mapping):
            return inner(value, work)
        return None if has_mask(value, work) else test(value, work)

    return judge


def _judge_mapping(patterns: Mapping[str, ArgumentPattern], mode: str, embed: Embed | None) -> Judge:
    judges = [(key, judge_argument(pattern, embed)) for key, pattern in patterns.items()]

    def judge(given: Mapping[str, Any], work: Work) -> Verdict:
        if mode == "exact" and not patterns.keys() >= given.keys():
            return False
        return _all(one(given.get(key, MISSING), work) for key, one in judges)

    return judge


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    """Whether all hold. One that definitely fails does so whatever the others are."""
    together: Verdict = True
    for verdict in verdicts:
        if verdict is False:
            return False
        if verdict is None:
            together = None
    return together


def _same(expected: Any, value: Any, work: Work) -> Verdict:
    """As `equal`, but for masked values. Recurses only as deep as ``expected``."""
    if isinstance(value, str) and is_masked(value, work):
        return True if expected == value else None
    if isinstance(expected, dict) and isinstance(value, Mapping):
        if expected.keys() != value.keys():
            return False
        return _all(_same(item, value[key], work) for key, item in expected.items())
    if isinstance(expected, list) and isinstance(value, list | tuple):
        if len(expected) != len(value):
            return False
        return _all(_same(item, got, work) for item, got in zip(expected, value, strict=True))
    return equal(expected, value)
