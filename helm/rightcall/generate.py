"""Generates values.schema.json from values.yaml and the collector's configuration model, and the golden renderings with Helm.

    python helm/rightcall/generate.py [--output FOLDER]

Every key of values.yaml is in the schema with the type of its default, and no other key is allowed; what cannot be
derived from a default is in the table below. ``config`` has the schema that ``rightcall schema config`` prints.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parent
sys.path.insert(0, str(CHART.parent.parent))  # to import the collector if it is not installed

from collector.config.schema import config_schema  # noqa: E402

Schema = dict[str, Any]
KUBE_VERSION = "1.31.0"
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
NAME: Schema = {"type": "string", "minLength": 1}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
DNS_LABEL = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"  # or nothing
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml$"


def record(**keys: Schema) -> Schema:
    """The schema of an object with exactly these keys."""
    return {"type": "object", "properties": keys, "required": [*keys], "additionalProperties": False}


# What cannot be derived from a default value. Kubernetes itself checks the maps and lists that it defines.
SPECIAL: dict[str, Schema] = {
    **{f"{part}Override": {"type": "string", "pattern": DNS_LABEL} for part in ("name", "fullname")},
    "mode": {"enum": ["gateway", "sidecar"]},
    "routing": {"enum": ["kafka", "single", "loadBalancer", "external"]},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "imagePullSecrets": {"type": "array", "items": record(name=NAME)},
    "rules": {
        "type": "object",
        "propertyNames": {"pattern": FILE_NAME},
        "additionalProperties": {"type": "string"},
    },
    "existingRules.keys": {"type": "array", "items": {"type": "string", "pattern": FILE_NAME}},
    "config": {"$ref": "#/$defs/Config"},
    "exporterHeaders": {"type": "array", "items": record(header=NAME, secret=NAME, key=NAME)},
    "replicaCount": {"type": "integer", "minimum": 1},
    "loadBalancer.replicaCount": {"type": "integer", "minimum": 1},
    "loadBalancer.routingKey": {"enum": ["traceID", "service"]},
    "terminationGracePeriodSeconds": {"type": "integer", "minimum": 10},
    "runAsUser": {"type": "integer", "minimum": 1},
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "spool.sizeMiB": {"type": "integer", "minimum": 16},
    "autoscaling.targetUnreadMessages": {"type": "integer", "minimum": 0},
    "autoscaling.minReplicas": {"type": "integer", "minimum": 1},
    "autoscaling.targetCPUUtilizationPercentage": {"type": "integer", "minimum": 1, "maximum": 100},
    "podDisruptionBudget.maxUnavailable": {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^([1-9][0-9]?|100)%$"}]
    },
    "resources": {"type": "object"},
    "loadBalancer.resources": {"type": "object"},
    "affinity": {"type": "object"},
    **{f"ports.{name}": PORT for name in ("grpc", "http", "metrics", "admin")},
    **dict.fromkeys(
        (
            "commonLabels",
            "podAnnotations",
            "podLabels",
            "nodeSelector",
            "service.annotations",
            "serviceAccount.annotations",
            "serviceMonitor.labels",
            "prometheusRule.labels",
            "dashboards.labels",
        ),
        TEXTS,
    ),
    **dict.fromkeys(
        (
            "extraEnv",
            "extraVolumes",
            "extraVolumeMounts",
            "tolerations",
            "topologySpreadConstraints",
            "networkPolicy.sendersFrom",
            "networkPolicy.scrapersFrom",
            "networkPolicy.egress",
        ),
        OBJECTS,
    ),
}
TYPES = {str: "string", bool: "boolean", int: "integer"}


def schema_of(value: Any, where: str = "") -> Schema:
    """Returns the schema of a default value. Raises KeyError for one that must be listed in SPECIAL."""
    if where in SPECIAL:
        return SPECIAL[where]
    if isinstance(value, dict) and value:
        keys = {key: schema_of(inner, f"{where}.{key}".lstrip(".")) for key, inner in value.items()}
        return {"type": "object", "properties": keys, "additionalProperties": False}
    return {"type": TYPES[type(value)]}


def values_schema() -> str:
    """Returns the text of values.schema.json."""
    schema = schema_of(yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))
    schema["properties"]["global"] = {"type": "object"}  # Helm passes it to every subchart
    config = config_schema()
    definitions = config.pop("$defs")
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    return json.dumps(draft | schema | {"$defs": {**definitions, "Config": config}}, indent=2) + "\n"


def cases() -> Iterator[tuple[str, Path]]:
    """Yields (name, values file) of every case in ci/."""
    for path in sorted((CHART / "ci").glob("*-values.yaml")):
        yield path.name.removesuffix("-values.yaml"), path


def render(values: Path, *options: str) -> str:
    """Returns the manifests that Helm renders with these values."""
    command = ["helm", "template", "agents", str(CHART), "--namespace", "telemetry", "--kube-version", KUBE_VERSION]
    command += ["--values", str(values), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{values}: {done.stderr}")
    return done.stdout


def golden(rendered: str) -> Iterator[tuple[str, str]]:
    """Yields (template, text) of a rendering, without dashboards, which are copies of files/dashboards."""
    texts: dict[str, str] = {}
    for document in re.split(r"^---\n", rendered, flags=re.MULTILINE):
        source = re.match(r"# Source: rightcall/templates/(\S+)\n", document)
        if source and source[1] != "dashboards.yaml":
            name = source[1].replace("/", "-")
            texts[name] = texts.get(name, "") + "---\n" + document
    yield from texts.items()


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description="Generate the chart's schema and golden renderings.")
    parser.add_argument("--output", type=Path, default=CHART)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    (output / "values.schema.json").write_text(values_schema(), "utf-8")
    if shutil.which("helm") is None:
        print("helm is not installed: the golden renderings are not updated", file=sys.stderr)  # noqa: T201
        return
    shutil.rmtree(output / "examples", ignore_errors=True)
    for name, values in cases():
        for template, text in golden(render(values)):
            path = output / "examples" / name / "rendered" / template
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
