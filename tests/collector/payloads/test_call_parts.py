"""Calls of which each part has an attribute under one word."""

from __future__ import annotations

from collector.payloads.attribute_shapes import MAX_LOOKED_AT
from collector.payloads.call_parts import call_in_parts
from tests.operations import calls


def test_the_parts_of_a_call_are_looked_for_among_as_many_attributes_as_its_name() -> None:
    names = {f"{number}.fn.name": "pay" for number in range(MAX_LOOKED_AT)}

    def work(count: int) -> int:
        attributes = {**names, **{f"k{number}": "v" for number in range(count)}}
        return calls(lambda: call_in_parts(attributes, "step"))

    assert work(2_000) < 1.1 * work(1_000)
