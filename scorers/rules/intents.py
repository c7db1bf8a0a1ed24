"""Finds the intent of a user's text, if no attribute gives it, and reports how it was found.

Keywords and regexes of all intents come first, in order, and the first match wins: they are exact and cheap. Only if none
matches are the examples compared; the most similar one wins, if it reaches its threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal

from scorers.rules.arguments import Embed
from scorers.rules.model import Intent
from scorers.rules.regexes import compile_regex, escape, is_match

MAX_INTENT_TEXT = 20_000
"""Characters of a user's text that are searched and embedded."""


@dataclass(frozen=True, slots=True)
class FoundIntent:
    """An intent, and the keyword, regex or example that matched. ``name`` is None if nothing did."""

    name: str | None
    by: Literal["keyword", "regex", "example", "none"]
    reason: str


_NOTHING = FoundIntent(None, "none", "no keyword, regex or example of an intent matches the user's text")

Classifier = Callable[[str], FoundIntent]


def build_classifier(intents: Sequence[Intent], embed: Embed | None = None) -> Classifier:
    """Returns a function from a user's text to its intent. ``embed`` returns unit vectors; without it examples are ignored.

    The examples are embedded now, so that a problem with them or with the model shows when rules are loaded.
    """
    expressions = [(compile_regex(regex), found) for intent in intents for regex, found in _expressions(intent)]
    examples = [
        (intent, text, tuple(embed(text))) for intent in intents for text in (intent.examples if embed else ()) if embed
    ]

    def classify(text: str) -> FoundIntent:
        text = text[:MAX_INTENT_TEXT]
        for expression, found in expressions:
            if is_match(expression, text):
                return found(text)
        if embed is None or not examples or not text.strip():
            return _NOTHING
        vector = embed(text)
        similar = [(sum(map(mul, vector, known)), intent, example) for intent, example, known in examples]
        similar = [item for item in similar if item[0] >= item[1].threshold]
        if not similar:
            return _NOTHING
        similarity, intent, example = max(similar, key=lambda item: item[0])
        return FoundIntent(intent.name, "example", f"example {example!r}, similarity {similarity:.2f}")

    return classify


def _expressions(intent: Intent) -> Iterator[tuple[str, Classifier]]:
    """The expressions of an intent, each with a function from a text it matches to what was found."""
    keywords = [word for keyword in intent.keywords if (word := keyword.strip())]
    if keywords:
        # One expression for all keywords. Which keyword it was is determined only after a match.
        single = {keyword: compile_regex(f"(?i){_whole_word(keyword)}") for keyword in keywords}

        def by_keyword(text: str) -> FoundIntent:
            keyword = next(keyword for keyword in keywords if is_match(single[keyword], text))
            return FoundIntent(intent.name, "keyword", f"keyword {keyword!r}")

        yield f"(?i)(?:{'|'.join(map(_whole_word, keywords))})", by_keyword
    if intent.regex:
        by_regex = FoundIntent(intent.name, "regex", f"regex {intent.regex}")
        yield intent.regex, lambda _: by_regex


def _whole_word(word: str) -> str:
    return f"{_edge(word[0])}{escape(word)}{_edge(word[-1])}"


def _edge(character: str) -> str:
    # Only next to word characters: beside others, as in "C++", a word boundary would never match.
    return r"\b" if character.isascii() and (character.isalnum() or character == "_") else ""
