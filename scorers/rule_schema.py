"""The JSON Schema of rule files for editors, with the known scorers and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorers.registry import JUDGES, OPTIONS, SCORERS
from scorers.rules.model import RuleFile, ScorerRef


def rule_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a rule file."""
    schema = RuleFile.model_json_schema()
    names = sorted({*SCORERS, *JUDGES})
    by_name, by_options = schema["$defs"]["ScorerRef"]["anyOf"]
    by_name["enum"] = by_options["properties"]["system"]["enum"] = names
    without = [name for name in names if name not in JUDGES]
    by_options["allOf"] = [_when({"enum": without}, {"properties": {"sample_rate": False}})]
    for name, model in OPTIONS.items():
        options = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        schema["$defs"].update({f"{name}.{key}": value for key, value in options.pop("$defs", {}).items()})
        taken = {"properties": options.get("properties", {})}
        known = [*ScorerRef.model_fields, *options.get("properties", {})]
        by_options["allOf"].append(_when({"const": name}, {**taken, "propertyNames": {"enum": known}}))
    return schema


def _when(system: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {"system": system}, "required": ["system"]}, "then": then}
