"""The JSON Schema of rule files for editors, with the known scorers and the options of those that ask a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scorers.call_scorer import Options
from scorers.judged.tool_choice import NAME as TOOL_CHOICE
from scorers.judged.tool_choice import ToolChoiceOptions
from scorers.registry import JUDGES, SCORERS
from scorers.rules.model import RuleFile, ScorerRef
from scorers.systems import mastra_llm

JUDGE_OPTIONS: Final[Mapping[str, type[Options]]] = {
    mastra_llm.NAME: mastra_llm.MastraLLMJudgeOptions,
    TOOL_CHOICE: ToolChoiceOptions,
}


def rule_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a rule file."""
    schema = RuleFile.model_json_schema()
    names = sorted({*SCORERS, *JUDGES})
    by_name, by_options = schema["$defs"]["ScorerRef"]["anyOf"]
    by_name["enum"] = by_options["properties"]["system"]["enum"] = names
    without = [name for name in names if name not in JUDGES]
    by_options["allOf"] = [_when({"enum": without}, {"properties": {"sample_rate": False}})]
    for name, model in JUDGE_OPTIONS.items():
        options = model.model_json_schema(ref_template="#/$defs/{model}")
        schema["$defs"].update(options.pop("$defs", {}))
        taken = {"properties": options["properties"]}
        known = [*ScorerRef.model_fields, *options["properties"]]
        by_options["allOf"].append(_when({"const": name}, {**taken, "propertyNames": {"enum": known}}))
    return schema


def _when(system: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {"system": system}, "required": ["system"]}, "then": then}
