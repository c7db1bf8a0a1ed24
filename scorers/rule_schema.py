"""The JSON Schema of rule files for editors, with the known scorers, those of installed packages too, and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorers.options import Options
from scorers.plugins import MATCHERS, Installed, PluginError
from scorers.plugins import SCORERS as PLUGINS
from scorers.registry import JUDGES, OPTIONS, SCORERS
from scorers.rules.model import RuleFile, ScorerRef


def rule_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a rule file."""
    schema = RuleFile.model_json_schema()
    names = sorted({*SCORERS, *JUDGES, *PLUGINS})
    by_name, by_options = schema["$defs"]["ScorerRef"]["anyOf"]
    by_name["enum"] = by_options["properties"]["system"]["enum"] = names
    without = [name for name in names if name not in JUDGES]
    by_options["allOf"] = [_when({"enum": without}, {"properties": {"sample_rate": False}})]
    for name, model in {**OPTIONS, **_options(PLUGINS)}.items():
        taken = _schema_of(model, name, schema["$defs"]).get("properties", {})
        known = [*ScorerRef.model_fields, *taken]
        by_options["allOf"].append(_when({"const": name}, {"properties": taken, "propertyNames": {"enum": known}}))
    matchers = {
        name: {"anyOf": [{"const": True}, _schema_of(model, name, schema["$defs"])]}
        for name, model in _options(MATCHERS).items()
    }
    one = {"type": "object", "minProperties": 1, "maxProperties": 1}
    schema["$defs"]["Plugged"] = {**one, "properties": matchers, "additionalProperties": False}
    return schema


def _when(system: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {"system": system}, "required": ["system"]}, "then": then}


def _options(plugins: Mapping[str, Installed[Any]]) -> dict[str, type[Options]]:
    """The options of the plug-ins that can be used."""
    models: dict[str, type[Options]] = {}
    for name, installed in plugins.items():
        try:
            models[name] = installed.plugin.options
        # Left out, not raised: the schema helps an editor, and `check` says what is wrong with the package.
        except PluginError:
            continue
    return models


def _schema_of(model: type[Options], name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of options; what it refers to is added to the definitions."""
    options = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
    definitions.update({f"{name}.{key}": value for key, value in options.pop("$defs", {}).items()})
    return options
