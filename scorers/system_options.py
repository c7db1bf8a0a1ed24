"""The scorers that a rule may name, and their options, as rows of a table: for `rightcall check --systems` and the README."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from scorers.registry import JUDGES, OPTIONS, VERSIONS

_WORDS = {
    "boolean": "true, false", "string": "text", "object": "mapping", "integer": "number", "number": "number",
}  # fmt: skip


class SystemOption(NamedTuple):
    """An option of a scorer; one without options has a single row, whose ``option`` is ""."""

    system: str
    version: str
    option: str
    values: str
    default: str


def system_options() -> Iterator[SystemOption]:
    """Yield the options of every scorer, in order of names."""
    for system in sorted(OPTIONS):
        model, version = OPTIONS[system], VERSIONS[system]
        version += " (asks a model)" if system in JUDGES else ""
        schema = model.model_json_schema(ref_template="{model}")
        if not model.model_fields:
            yield SystemOption(system, version, "", "", "")
        for name, field in model.model_fields.items():
            option = field.alias or name
            values = _values(schema["properties"][option], schema.get("$defs", {}))
            yield SystemOption(system, version, option, values, _default(field))


def lines() -> list[str]:
    """Returns them as lines for a terminal, the options below each scorer."""
    shown: list[str] = []
    before = ""
    for row in system_options():
        if row.system != before:
            shown.append(f"{row.system}  {row.version}")
            before = row.system
        if row.option:
            shown.append(
                f"    {row.option}: {row.values}" + (f" (default {row.default})" if row.default else " (required)")
            )
    return shown


def _values(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What an option may be, in words."""
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("examples"):
        return ", ".join(map(str, schema["examples"]))
    if "$ref" in schema:
        return f"{{{', '.join(definitions[schema['$ref']]['properties'])}}}"
    if "anyOf" in schema:
        return " or ".join(_values(one, definitions) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_values(schema.get('items', {}), definitions)}"
    return _WORDS[schema["type"]] if "type" in schema else "text, list or mapping"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    default = field.get_default(call_default_factory=True)
    return "none" if default is None else json.dumps(default, default=lambda model: model.model_dump(by_alias=True))
