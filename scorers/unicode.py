"""JSON and other literals from outside, with all text in them as valid Unicode.

An escape such as ``\\ud800`` writes half of a surrogate pair, which JSON allows and no encoding can carry: SDKs that cut a
text in the middle of a character send it. Such text would fail wherever it is written, so it is replaced where it is read.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

# Without its backslash an escape is found several times as fast: JSON inside JSON is full of backslashes.
_HALF: Final = re.compile(r"u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR: Final = re.compile(r"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


class JSONDecoder(json.JSONDecoder):
    """Decodes JSON like the standard library; each half of a surrogate pair becomes U+FFFD.

    Raises `RecursionError` for values that are nested too deeply, as the standard library does.
    """

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        """Returns the value that starts at ``idx``, and where it ends. Raises ValueError."""
        value, end = super().raw_decode(s, idx)
        # Only an escape can bring a half in, since the text itself was decoded: most values need no walk.
        # In the part that was read, since ``s`` may hold thousands of values.
        has_escape = s.find("\\", idx, end) >= 0
        return (valid_unicode(value) if has_escape and _has_half_pair(s[idx:end]) else value), end


def valid_unicode(value: Any) -> Any:
    """Returns a plain value with pairs of surrogates in its texts and keys joined, and lone ones replaced by U+FFFD."""
    if isinstance(value, str):
        return value if _is_valid(value) else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {valid_unicode(key): valid_unicode(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(map(valid_unicode, value))
    return value


def _has_half_pair(text: str) -> bool:
    """Whether JSON text may hold the escape of half a pair; may be wrong only in saying so."""
    return _HALF.search(text) is not None and _HALF.search(_PAIR.sub("", text)) is not None


def _is_valid(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
