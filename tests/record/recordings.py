"""Which recordings there are, and how one is made: an environment, two loopback servers, the framework's script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.record.http import LoopbackServer
from tests.record.model_server import ScriptedModel
from tests.record.receiver import RequestFiles
from tests.record.scenarios import scenarios

ROOT = Path(__file__).parents[2]
_SDK = ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2")
_TIMEOUT = 180  # seconds for an installation, or for one run


class EnvironmentMissingError(Exception):
    """The packages of a recording cannot be installed here."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A script in ``frameworks/`` and what it needs: the framework first, then what instruments it, then the rest."""

    script: str
    requirements: tuple[str, ...]


RECORDINGS: dict[str, Recording] = {
    "py-agno-openinference": Recording(
        "agno_openinference", ("agno==3.1.10", "openinference-instrumentation-agno==1.0.15", "openai==3.52.0")
    ),
    "py-langchain-official": Recording(
        "langchain_official",
        ("langchain==1.4.7", "opentelemetry-instrumentation-genai-langchain==1.3b0", "langchain-openai==1.7.3"),
    ),
    "py-langchain-openinference": Recording(
        "langchain_openinference",
        ("langchain==1.4.7", "openinference-instrumentation-langchain==0.1.80", "langchain-openai==1.7.3"),
    ),
    "py-openai-agents-official": Recording(
        "openai_agents_official",
        (
            "openai-agents==0.24.0",
            "opentelemetry-instrumentation-genai-openai-agents==1.3b0",
            "opentelemetry-instrumentation-genai-openai==1.3b0",
        ),
    ),
    "py-openai-sdk-openllmetry": Recording(
        "openai_sdk_openllmetry", ("openai==3.52.0", "opentelemetry-instrumentation-openai==0.62.4")
    ),
    "py-pydantic-ai-native": Recording("pydantic_ai_native", ("pydantic-ai-slim==2.68.0", "openai==3.52.0")),
}


def record(name: str, folder: Path) -> Iterator[Path]:
    """Record every scenario into a folder of its own below ``folder``; yields each when it is written.

    Raises EnvironmentMissingError where its packages cannot be installed, and RuntimeError with what the framework
    printed where its run fails.
    """
    recording = RECORDINGS[name]
    with TemporaryDirectory(prefix="rightcall-record-") as scratch:
        python = _environment(Path(scratch) / "venv", (*recording.requirements, *_SDK))
        for scenario in scenarios():
            target = folder / f"{name}-{scenario}"
            if target.exists():
                shutil.rmtree(target)
            target.mkdir(parents=True)
            _run(python, recording, name, scenario, target)
            yield target


def _environment(venv: Path, requirements: Sequence[str]) -> Path:
    """A new virtual environment with these packages; its interpreter."""
    uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if uv is None:
        raise EnvironmentMissingError("uv is not installed")
    python = venv / "bin" / "python"
    create = [uv, "venv", "--quiet", "--python", sys.executable, str(venv)]
    install = [uv, "pip", "install", "--quiet", "--python", str(python), *requirements]
    for command in (create, install):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise EnvironmentMissingError(f"uv did not finish in {_TIMEOUT} s") from None
        if done.returncode:
            raise EnvironmentMissingError(done.stderr.strip())
    return python


def _run(python: Path, recording: Recording, name: str, scenario: str, target: Path) -> None:
    script = scenarios()[scenario].answers
    packages = [requirement.partition("==")[0] for requirement in recording.requirements]
    with ExitStack() as servers:
        model = ScriptedModel(script)
        receiver = servers.enter_context(LoopbackServer(RequestFiles(target).answer))
        openai = servers.enter_context(LoopbackServer(model.answer))
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(python.parents[2]),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENAI_BASE_URL": f"{openai.url}/v1",
            "OPENAI_API_KEY": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "40",  # ms; several requests a run, spans before their parents, as in production
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
            "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        }
        module = f"tests.record.frameworks.{recording.script}"
        command = [str(python), "-m", module, name, scenario, str(target), *packages]
        done = subprocess.run(
            command, cwd=target, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{name} {scenario} failed\n{done.stderr[-4000:]}")
    truth = target / "truth.json"
    noted = json.loads(truth.read_text()) | {"llm_http_requests": len(model.requests)}
    truth.write_text(json.dumps(noted, indent=1, ensure_ascii=False) + "\n")
