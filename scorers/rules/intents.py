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
from typing import Any, Final, Literal, NamedTuple
from unicodedata import category

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


class _Sign(NamedTuple):
    """What shows an intent: a keyword, casefolded, or else a regex."""

    found: FoundIntent
    keyword: str
    expression: Any


class Expressions:
    """The keywords and regexes of intents, in order.

    Few keywords are looked for at once, and many only in texts that have their rarest word, so that thousands of them cost
    no more than the text has words. Keywords without a word, and regexes, are tried one after the other.
    """

    def __init__(self, intents: Sequence[Intent]) -> None:
        self._signs: list[_Sign] = []
        self._by_word: dict[str, list[int]] = {}
        self._always: list[int] = []
        # A keyword is kept under its rarest word: "my order" under a word that all keywords have would be tried for
        # nearly every text.
        uses = Counter(word for intent in intents for keyword in intent.keywords for word in _words(keyword.casefold()))
        few = []
        for intent in intents:
            for written in filter(None, map(str.strip, intent.keywords)):
                keyword = written.casefold()
                rarest = min(_words(keyword), key=uses.__getitem__, default="")
                self._add(_Sign(FoundIntent(intent.name, "keyword", f"keyword {written!r}"), keyword, None), rarest)
                few += [escape(keyword)] if rarest else []
            if intent.regex:
                found = FoundIntent(intent.name, "regex", f"regex {intent.regex}")
                self._add(_Sign(found, "", compile_regex(intent.regex)))
        self._any_of_few = compile_regex("|".join(few)) if 0 < len(few) <= _FEW else None

    def find(self, text: str) -> FoundIntent | None:
        """Returns the first that matches the text; None if none does."""
        folded = text.casefold()
        # Encoded once for all expressions: RE2 searches bytes.
        encoded = text.encode("utf-8", "replace")
        for at in self.candidates(folded):
            found, keyword, expression = self._signs[at]
            if _has_words(folded, keyword) if keyword else expression.search(encoded) is not None:
                return found
        return None

    def candidates(self, folded: str) -> list[int]:
        """Returns the positions of those that are tried in a casefolded text, in order."""
        found = list(self._always)
        if self._by_word and (self._any_of_few is None or is_match(self._any_of_few, folded)):
            for word in _words(folded):
                found += self._by_word.get(word, ())
            # Back into the order of the file: the first match wins.
            found.sort()
        return found

    def _add(self, sign: _Sign, word: str = "") -> None:
        (self._by_word.setdefault(word, []) if word else self._always).append(len(self._signs))
        self._signs.append(sign)


_FEW: Final = 100  # keywords that one expression may look for
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai and Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Korean, where particles follow a word without a space
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uffdc\U0001aff0-\U0001b16f"  # Kana
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Characters of scripts in which words are written without spaces between them: a keyword may begin and end anywhere."""
_WORD: Final = re.compile(f"[^\\W{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")


def _words(folded: str) -> set[str]:
    """Returns the words of a casefolded text. What has a keyword as whole words has all words of the keyword."""
    return set(_WORD.findall(folded))


def _has_words(text: str, words: str) -> bool:
    at = text.find(words)
    while at >= 0:
        if not _is_inside_word(text, at) and not _is_inside_word(text, at + len(words)):
            return True
        at = text.find(words, at + 1)
    return False


def _is_inside_word(text: str, at: int) -> bool:
    """Whether the characters before and after this place belong to one word."""
    return 0 < at < len(text) and _is_of_word(text[at - 1]) and _is_of_word(text[at])


def _is_of_word(character: str) -> bool:
    # Marks too, such as accents and vowel signs: they belong to the letter before them.
    is_of_word = character == "_" or category(character)[0] in "LNM"
    return is_of_word and _IS_UNSPACED.match(character) is None
