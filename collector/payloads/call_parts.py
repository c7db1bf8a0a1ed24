"""A call of which each part has an attribute under one word of a sender's own: `fn.name`, `fn.args`, `fn.return`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from collector.payloads.attribute_shapes import (
    MAX_KEY,
    MAX_LOOKED_AT,
    Meaning,
    arguments_one_by_one,
    values_by_meaning,
    words_of,
)
from collector.payloads.identified_calls import FUNCTION_NAME
from collector.payloads.outcomes import TOLD
from collector.payloads.values import parse_any

_WORD: Final = r"(?:function|func|fn|action|act|skill|capability|toolbox|toolkit)"
_NAME_KEY: Final = re.compile(rf"((?:[\w.-]{{0,64}}[._])?{_WORD}[._])name")
_OWN_KEY: Final = re.compile(r"(?:.*_)?(?:function|func|fn|action|skill|capability)")


def call_in_parts(attributes: Mapping[str, Any], span_name: str) -> dict[Meaning, list[Any]]:
    """Returns what the attributes under one word tell of a call: its tool, its input, and what came of it.

    Nothing if one of these is not told. The input need not be where the span has the name of the attribute with the tool,
    `shop.function`, and others under that one tell what came of it.
    """
    looked_at = dict(islice(attributes.items(), MAX_LOOKED_AT))
    for key, value in looked_at.items():
        if type(value) is not str or len(key) > MAX_KEY or FUNCTION_NAME.fullmatch(value) is None:
            continue
        is_own = key == span_name and _OWN_KEY.fullmatch(words_of(key)) is not None
        match = None if is_own else _NAME_KEY.fullmatch(key)
        beginning = f"{key}." if is_own else "" if match is None else match[1]
        if beginning:
            parts = {k.removeprefix(beginning): v for k, v in looked_at.items() if k.startswith(beginning)}
            values = values_by_meaning(parts)
            given = arguments_one_by_one(parts) or next(iter(values.get("input", ())), None)
            has_input = isinstance(parse_any(given), Mapping)
            if not TOLD.isdisjoint(values) and (has_input or is_own):
                call: dict[Meaning, list[Any]] = {"tool_name": [value], "returned": [True]}
                call.update({meaning: values[meaning] for meaning in values if meaning in TOLD})
                return {**call, "input": [given]} if has_input else call
    return {}
