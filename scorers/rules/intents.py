"""Which intent a user's words show, where no attribute says it, and by what it was found.

Keywords and regexes of all intents go first, in order, and the first match wins: they are exact and cost next to nothing.
Only where none holds are the examples asked, and of those the nearest wins, if it is near enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal

from scorers.rules.arguments import Embed
from scorers.rules.model import Intent
from scorers.rules.regexes import compile_regex, escape, found

MAX_WORDS = 20_000


@dataclass(frozen=True, slots=True)
class FoundIntent:
    """An intent and what showed it: a keyword, a regex or an example of the rule file, in words. None: nothing did."""

    name: str | None
    by: Literal["keyword", "regex", "example", "none"]
    reason: str


_NOTHING = FoundIntent(None, "none", "no intent's keywords, regex or examples fit the user's words")

Classifier = Callable[[str], FoundIntent]


def build_classifier(intents: Sequence[Intent], embed: Embed | None = None) -> Classifier:
    """A function from a user's words to the intent they show. ``embed`` gives unit vectors; without it examples are not read.

    The examples are embedded here and now, so that what is wrong with them or the model shows when rules are loaded.
    """
    expressions = [(compile_regex(text), reasons) for intent in intents for text, reasons in _expressions(intent)]
    examples = [
        (intent, text, tuple(embed(text))) for intent in intents for text in (intent.examples if embed else ()) if embed
    ]

    def classify(words: str) -> FoundIntent:
        words = words[:MAX_WORDS]
        for expression, reason in expressions:
            if found(expression, words):
                return reason(words)
        if embed is None or not examples or not words.strip():
            return _NOTHING
        vector = embed(words)
        near = [(sum(map(mul, vector, known)), intent, text) for intent, text, known in examples]
        near = [item for item in near if item[0] >= item[1].threshold]
        if not near:
            return _NOTHING
        similarity, intent, text = max(near, key=lambda item: item[0])
        return FoundIntent(intent.name, "example", f"example {text!r}, similarity {similarity:.2f}")

    return classify


def _expressions(intent: Intent) -> Iterator[tuple[str, Classifier]]:
    """The expressions that show an intent, each with what it is that they show in words they occur in."""
    words = [word for keyword in intent.keywords if (word := keyword.strip())]
    if words:
        # One expression for all keywords; which of them it was is asked only when one was there.
        single = {word: compile_regex(f"(?i){_whole_word(word)}") for word in words}
        yield (
            f"(?i)(?:{'|'.join(map(_whole_word, words))})",
            lambda said: FoundIntent(
                intent.name, "keyword", "keyword " + repr(next(word for word in words if found(single[word], said)))
            ),
        )
    if intent.regex:
        by_regex = FoundIntent(intent.name, "regex", f"regex {intent.regex}")
        yield intent.regex, lambda _: by_regex


def _whole_word(word: str) -> str:
    return f"{_edge(word[0])}{escape(word)}{_edge(word[-1])}"


def _edge(character: str) -> str:
    # A word boundary beside a character that is no word's (as in "C++") would never hold, so it is asked only of words.
    return r"\b" if character.isascii() and (character.isalnum() or character == "_") else ""
