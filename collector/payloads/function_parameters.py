"""A function's parameters and what it returned as google-genai's instrumentation records them, in an attribute each.

opentelemetry-instrumentation-google-genai 0.4b0 to 1.3b0, for the functions that automatic function calling runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.payloads.told_failures import is_flagged
from collector.payloads.values import parse_any

PARAMETER: Final = "code.function.parameters."
RETURNED: Final = "code.function.return.value"
_VALUE: Final = ".value"


def parameters_of(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments, each with its type; None if there are none."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(PARAMETER) and key.endswith(_VALUE):
            name = key[len(PARAMETER) : -len(_VALUE)]
            # A text may look like JSON without being any; only the recorded type tells.
            found[name] = value if attributes.get(f"{PARAMETER}{name}.type") == "str" else parse_any(value)
    return found or None


def is_returned_error(returned: object) -> bool:
    """Whether a function returned an object with an ``error``, which the API documents as the way to tell of a failure."""
    return is_flagged(returned)
