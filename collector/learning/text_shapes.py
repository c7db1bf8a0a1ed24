"""What texts have in common, as a regular expression of a small family: literals and runs of letters and digits."""

from __future__ import annotations

import re
from collections import Counter

from scorers.rules.regexes import escape

MAX_TEXT = 100
"""Characters of a text that can be an identifier; a longer one is prose."""
_MAX_TOKENS = 16
_MAX_SHAPES = 20
_MAX_LITERALS = 8
_MIN_FIXED = 20  # texts before a length is believed to be fixed
_FINE = re.compile(r"[0-9]+|[a-z]+|[A-Z]+|[^0-9A-Za-z]")
_COARSE = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z]")
_CLASSES = (("0-9", re.compile("[0-9]")), ("a-z", re.compile("[a-z]")), ("A-Z", re.compile("[A-Z]")))
_URL, _EMAIL = re.compile(r"https?://\S+"), re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_NAMED = {"url": "^https?://", "email": r"^[^@\s]+@[^@\s]+$"}
_PROSE = "prose"


class _Token:
    """What stands at one place of the texts of one shape."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        self.classes: set[str] = set()

    def add(self, text: str) -> None:
        if text in self.texts or len(self.texts) < _MAX_LITERALS:
            self.texts[text] += 1
        self.lengths[len(text)] += 1
        self.classes.update(name for name, found in _CLASSES if found.search(text))

    def expression(self, most_lost: float) -> tuple[str, int]:
        """Returns an expression, and how many of the texts it does not match, at most ``most_lost``."""
        total = self.lengths.total()
        text, times = self.texts.most_common(1)[0]
        if total - times <= most_lost:
            return escape(text), total - times
        inside = "".join(name for name, _ in _CLASSES if name in self.classes)
        length, times = self.lengths.most_common(1)[0]
        return f"[{inside}]" + (f"{{{length}}}" if times == total >= _MIN_FIXED else "+"), 0


class TextShapes:
    """The shapes of the texts seen so far. Memory is limited, whatever comes."""

    def __init__(self) -> None:
        self._total = 0
        self._named: Counter[str] = Counter()
        self._shapes: dict[tuple[str, ...], tuple[Counter[None], list[_Token]]] = {}

    def add(self, text: str) -> None:
        """See one more text."""
        self._total += 1
        if len(text) > MAX_TEXT or any(character.isspace() for character in text):
            self._named[_PROSE] += 1
            return
        if _URL.fullmatch(text):
            self._named["url"] += 1
        elif _EMAIL.fullmatch(text):
            self._named["email"] += 1
        # Two readings: ids that mix letters and digits, such as `a1b2` and `ab12`, have only the coarse one in common.
        for tokens in {tuple(_FINE.findall(text)), tuple(_COARSE.findall(text))}:
            if 0 < len(tokens) <= _MAX_TOKENS:
                self._add_shape(tokens)

    def expression(self, noise: float) -> str | None:
        """Returns an expression that matches all texts but a share of ``noise``, and says something; None if there is none."""
        if not self._total:
            return None
        enough = (1 - noise) * self._total
        for name, expression in _NAMED.items():
            if self._named[name] >= enough:
                return expression
        fitting = [(count[None], tokens) for count, tokens in self._shapes.values() if count[None] >= enough]
        if not fitting:
            return None
        # The finest shape says most: it has more tokens than the coarse one of the same texts.
        count, tokens = max(fitting, key=lambda found: len(found[1]))
        parts, most_lost = list[str](), count - enough
        for token in tokens:  # each literal leaves out texts, and together they are no more than noise
            part, lost = token.expression(most_lost)
            parts.append(part)
            most_lost -= lost
        # Any word at all says nothing.
        is_any_word = len(parts) == 1 and parts[0].endswith("+") and "-" in parts[0]
        return None if is_any_word else f"^{''.join(parts)}$"

    def _add_shape(self, tokens: tuple[str, ...]) -> None:
        shape = tuple(_shape_of(token) for token in tokens)
        if shape not in self._shapes:
            if len(self._shapes) >= _MAX_SHAPES:
                return
            self._shapes[shape] = (Counter(), [_Token() for _ in tokens])
        count, found = self._shapes[shape]
        count[None] += 1
        for token, text in zip(found, tokens, strict=True):
            token.add(text)


def _shape_of(token: str) -> str:
    if not token[0].isascii() or not token[0].isalnum():
        return token
    return next((name for name, found in _CLASSES if _FINE.fullmatch(token) and found.match(token)), "word")
