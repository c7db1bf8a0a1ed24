"""The JSON Schema of a configuration file as it is written: before variables of the environment are put into it."""

from __future__ import annotations

from typing import Any, Final

from collector.config.model import Config

_VARIABLE: Final = {"type": "string", "pattern": r"\$\{env:"}


def config_schema() -> dict[str, Any]:
    """Returns the schema, for editors and for the Helm chart: a value may also be ``${env:NAME}``."""
    schema: dict[str, Any] = _or_variable(Config.model_json_schema())
    return schema


def _or_variable(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_or_variable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _or_variable(value) for key, value in schema.items()}
    is_scalar = schema.get("type") in ("integer", "number", "boolean") or isinstance(schema.get("enum"), list)
    return {"anyOf": [inner, _VARIABLE]} if is_scalar or isinstance(schema.get("pattern"), str) else inner
