"""Finds the intent of a user's text, if no attribute gives it, and reports how it was found.

Keywords and regexes of all intents come first, in order, and the first match wins: they are exact and cheap. Only if none
matches are the examples compared; the most similar one wins, if it reaches its threshold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, Final, Literal

from scorers.arithmetic import sum_in_order
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
    expressions = Expressions(intents)
    examples = [
        (intent, text, tuple(embed(text))) for intent in intents for text in (intent.examples if embed else ()) if embed
    ]

    def classify(text: str) -> FoundIntent:
        # The same cut as `RuleSet.text_to_embed`, so that what is embedded ahead of time is the text looked up here.
        text = text[:MAX_INTENT_TEXT]
        if (found := expressions.find(text)) is not None:
            return found
        if embed is None or not examples or not text.strip():
            return _NOTHING
        vector = embed(text)
        similar = [(sum_in_order(map(mul, vector, known)), intent, example) for intent, example, known in examples]
        similar = [item for item in similar if item[0] >= item[1].threshold]
        if not similar:
            return _NOTHING
        similarity, intent, example = max(similar, key=lambda item: item[0])
        return FoundIntent(intent.name, "example", f"example {example!r}, similarity {similarity:.2f}")

    return classify


class Expressions:
    """The keywords and regexes of intents, in order.

    Few keywords are looked for at once, and many only in texts that have their rarest word, so that thousands of them cost
    no more than the text has words. Keywords without a word, and regexes, are tried one after the other.
    """

    def __init__(self, intents: Sequence[Intent]) -> None:
        self._expressions: list[tuple[Any, FoundIntent]] = []
        self._by_word: dict[str, list[int]] = {}
        self._always: list[int] = []
        # A keyword is kept under its rarest word: "my order" under a word that all keywords have would be tried for
        # nearly every text.
        uses = Counter(word for intent in intents for keyword in intent.keywords for word in _words(_folded(keyword)))
        few = []
        for intent in intents:
            for keyword in filter(None, map(str.strip, intent.keywords)):
                found = FoundIntent(intent.name, "keyword", f"keyword {keyword!r}")
                rarest = min(_words(_folded(keyword)), key=uses.__getitem__, default="")
                self._add(f"(?i){_whole_word(_folded(keyword))}", found, rarest)
                few += [_whole_word(_folded(keyword))] if rarest else []
            if intent.regex:
                self._add(intent.regex, FoundIntent(intent.name, "regex", f"regex {intent.regex}"))
        self._any_of_few = compile_regex(f"(?i)(?:{'|'.join(few)})") if 0 < len(few) <= _FEW else None

    def find(self, text: str) -> FoundIntent | None:
        """Returns the first that matches the text; None if none does."""
        text = _folded(text)
        # Encoded once for all expressions: RE2 searches bytes.
        encoded = text.encode("utf-8", "replace")
        for at in self.candidates(text):
            expression, found = self._expressions[at]
            if expression.search(encoded) is not None:
                return found
        return None

    def candidates(self, text: str) -> list[int]:
        """Returns the positions of those that are tried, in order."""
        found = list(self._always)
        if self._by_word and (self._any_of_few is None or is_match(self._any_of_few, text)):
            for word in _words(text):
                found += self._by_word.get(word, ())
            # Back into the order of the file: the first match wins.
            found.sort()
        return found

    def _add(self, expression: str, found: FoundIntent, word: str = "") -> None:
        (self._by_word.setdefault(word, []) if word else self._always).append(len(self._expressions))
        self._expressions.append((compile_regex(expression), found))


def _words(text: str) -> set[str]:
    """Returns the words of a text, as the engine delimits them, in lower case."""
    return {word.lower() for word in _WORD.findall(text)}


_FEW: Final = 100  # keywords that one expression may look for
_WORD: Final = re.compile(r"\w+", re.ASCII)


def _folded(text: str) -> str:
    """Returns the text with plain letters for the two others that the engine takes for the same in another case."""
    return (
        text if text.isascii() else text.replace("\N{KELVIN SIGN}", "k").replace("\N{LATIN SMALL LETTER LONG S}", "s")
    )


def _whole_word(word: str) -> str:
    return f"{_edge(word[0])}{escape(word)}{_edge(word[-1])}"


def _edge(character: str) -> str:
    # Only next to word characters: beside others, as in "C++", a word boundary would never match.
    return r"\b" if character.isascii() and (character.isalnum() or character == "_") else ""
