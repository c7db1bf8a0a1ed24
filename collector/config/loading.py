"""Reads the configuration file. Every mistake in it has its line, and an unknown key the known one that is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from collector.config.listeners import clashes, loops
from collector.config.model import Config
from collector.config.yaml_documents import Where, environment, load_yaml, rule_paths
from collector.errors import ConfigError
from scorers.wording import nearest, plain_words

_OTLP_HTTP: Final = "`exporters.otlp` sends OTLP/HTTP where its endpoint is a URL, such as http://tempo:4318"
_OF_THE_COLLECTOR: Final[dict[Where, str]] = {
    ("connectors",): "there is one pipeline, from all receivers to all exporters",
    ("exporters", "logging"): "`exporters.debug` logs what is exported",
    ("exporters", "otlp_grpc"): "`exporters.otlp` sends OTLP/gRPC where its endpoint is host:port, such as tempo:4317",
    ("exporters", "otlp_http"): _OTLP_HTTP,
    ("exporters", "otlphttp"): _OTLP_HTTP,
    ("extensions",): "health and the console are under `admin`",
    ("processors",): "there are none; those of an OpenTelemetry Collector run in front or behind",
    ("service", "extensions"): "health and the console are under `admin`",
    ("service", "pipelines"): "there is one pipeline, from all receivers to all exporters",
}
"""Keys of the OpenTelemetry Collector that stand for something else here, or for nothing."""


def load_config(path: Path) -> Config:
    """Read a configuration file; paths in it are relative to its folder. Raises ConfigError with every mistake."""
    document = load_yaml(path, environment())
    try:
        config = Config.model_validate(_without_nulls(document.data, Config), context=path.parent)
    except ValidationError as error:
        raise document.error(_mistakes(error)) from None
    # Now and not when they are used, so that all mistakes are told at once, each with its key and its line.
    if mistakes := [*clashes(config), *loops(config), *_unreadable_rules(config)]:
        raise document.error(mistakes)
    return config


def _unreadable_rules(config: Config) -> Iterator[tuple[Where, str]]:
    """Yield the paths of rules at which there is nothing to read."""
    for index, path in enumerate(config.rules):
        try:
            rule_paths([path])
        except ConfigError as error:
            yield ("rules", index), str(error)


def _without_nulls(data: Any, section: type[BaseModel] | None) -> Any:
    """``grpc:`` without a value means its defaults, as in the OpenTelemetry Collector; ``null`` stays where it is a value."""
    if not isinstance(data, dict):
        return data
    result = {}
    for key, value in data.items():
        field = section.model_fields.get(key) if section is not None else None
        inner = next(_sections(field.annotation), None) if field is not None else None
        is_value = field is not None and field.default is None and inner is None
        result[key] = {} if value is None and not is_value else _without_nulls(value, inner)
    return result


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the sections among the types of a setting."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind


def _mistakes(error: ValidationError) -> Iterator[tuple[Where, str]]:
    for item in error.errors():
        where: Where = tuple(item["loc"])
        yield where, _message(where, item)


def _message(where: Where, item: ErrorDetails) -> str:
    if item["type"] == "extra_forbidden":
        if where in _OF_THE_COLLECTOR:
            return f"unknown key; {_OF_THE_COLLECTOR[where]}"
        known = sorted(_known_keys(where[:-1]))
        return "unknown key" + (nearest(str(where[-1]), known) or f"; known keys: {', '.join(known)}")
    if item["type"] == "string_pattern_mismatch":  # which in a rule is about names alone, and has words for them
        return f"must match {item['ctx']['pattern']}, not {item['input']!r}"
    if item["type"] == "string_type":  # may be a secret that YAML read as a number: it is not quoted
        return plain_words(item | {"input": None})
    return plain_words(item) + (_how_to_switch_off(where) if item["input"] is False else "")


def _how_to_switch_off(where: Where) -> str:
    """Returns what to write where ``off``, which YAML reads as false, stands in the place of a section that can be."""
    return "; to switch it off: {enabled: false}" if "enabled" in _known_keys(where) else ""


def _known_keys(where: Where) -> list[str]:
    """Returns the keys of the section at ``where``; none if it is no section."""
    section: type[BaseModel] | None = Config
    for name in where:
        field = section.model_fields.get(str(name)) if section is not None else None
        section = next(_sections(field.annotation), None) if field is not None else None
    return list(section.model_fields) if section is not None else []
