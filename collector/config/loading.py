"""Reads the configuration file. Every mistake in it has its line, and an unknown key the known one that is nearest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from collector.config.listeners import clashes
from collector.config.model import Config
from collector.config.yaml_documents import Document, Where, environment, load_yaml, nearest
from scorers.wording import plain_words


def load_config(path: Path) -> Config:
    """Read a configuration file; paths in it are relative to its folder. Raises ConfigError with every mistake."""
    document = load_yaml(path, environment())
    try:
        config = Config.model_validate(_without_nulls(document.data), context=path.parent)
    except ValidationError as error:
        raise document.error(_mistakes(document, error)) from None
    # Now and not when the second one binds, so that `check` finds it and the message names both keys.
    if mistakes := list(clashes(config)):
        raise document.error(mistakes)
    return config


def _without_nulls(data: Any) -> Any:
    """``grpc:`` without a value means its defaults, as in the OpenTelemetry Collector."""
    if isinstance(data, dict):
        return {key: {} if value is None else _without_nulls(value) for key, value in data.items()}
    return data


def _mistakes(document: Document, error: ValidationError) -> list[tuple[Where, str]]:
    mistakes = []
    for item in error.errors():
        where: Where = tuple(item["loc"])
        if item["type"] == "extra_forbidden":
            mistakes.append((where, nearest(str(where[-1]), _known_keys(where[:-1]))))
        else:
            # What stands in the place of a text may be a secret that YAML read as a number: it is not quoted.
            secret_or_text = item["type"] == "string_type"
            mistakes.append((where, plain_words(item | {"input": None} if secret_or_text else item)))
    return mistakes


def _known_keys(where: Where) -> list[str]:
    """Returns the keys of the section at ``where``."""
    section: type[BaseModel] = Config
    for name in where:
        kinds = [section.model_fields[str(name)].annotation, *get_args(section.model_fields[str(name)].annotation)]
        section = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
    return list(section.model_fields)
