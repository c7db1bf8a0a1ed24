"""Which recordings there are, and how one is made: an environment, two loopback servers, the framework's script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
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
    """A script in ``frameworks/``, the pinned packages it needs, and the scenarios that are recorded with it."""

    script: str
    framework: str
    instrumentations: tuple[str, ...] = ("built-in",)
    """What records the spans: packages, or ``built-in`` for the framework itself. Several record the same calls."""
    others: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ("multi", "fail")
    tool_prefix: str = ""
    """What the framework puts before a tool's name when it offers the tool to the model."""
    behind_route: bool = False
    """The agent answers a web request. Its span makes one trace of what two instrumentations would record as two."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """All packages: the framework, then what instruments it, then the rest."""
        packages = (package for package in self.instrumentations if package != "built-in")
        return tuple(dict.fromkeys((self.framework, *packages, *self.others)))


def package_name(requirement: str) -> str:
    """The name in a pinned requirement, without extras."""
    return requirement.partition("==")[0].partition("[")[0]


_TWICE = ("multi", "fail", "equal", "nested")
_AGENTS, _AGENTS_OI, _AGENTS_TL, _LOGFIRE = (
    "openai-agents==0.24.0",
    "openinference-instrumentation-openai-agents==2.6.0",
    "opentelemetry-instrumentation-openai-agents==0.62.4",
    "logfire==5.2.0",
)
RECORDINGS: dict[str, Recording] = {
    "py-agentscope-native": Recording(
        "agentscope_native",
        "agentscope==2.0.10",
        others=("openai==3.52.0",),
        scenarios=("multi", "fail", "missing"),
    ),
    "py-agno-official+openinference": Recording(
        "agno_official_openinference",
        "agno==3.1.10",
        ("opentelemetry-instrumentation-genai-agno==1.3b0", "openinference-instrumentation-agno==1.0.15"),
        ("openai==3.52.0",),
        _TWICE,
    ),
    "py-agno-openinference": Recording(
        "agno_openinference", "agno==3.1.10", ("openinference-instrumentation-agno==1.0.15",), ("openai==3.52.0",)
    ),
    "py-crewai-openinference+openllmetry": Recording(
        "crewai_openinference_openllmetry",
        "crewai==1.15.30",
        ("openinference-instrumentation-crewai==1.1.21", "opentelemetry-instrumentation-crewai==0.62.4"),
        ("opentelemetry-instrumentation-openai==0.62.4",),
        _TWICE,
    ),
    "py-langchain-apart-openinference+official": Recording(
        "langchain_openinference_official",
        "langchain==1.4.7",
        ("openinference-instrumentation-langchain==0.1.80", "opentelemetry-instrumentation-genai-langchain==1.3b0"),
        ("langchain-openai==1.7.3",),
    ),
    "py-langchain-official": Recording(
        "langchain_official",
        "langchain==1.4.7",
        ("opentelemetry-instrumentation-genai-langchain==1.3b0",),
        ("langchain-openai==1.7.3",),
    ),
    "py-langchain-openinference": Recording(
        "langchain_openinference",
        "langchain==1.4.7",
        ("openinference-instrumentation-langchain==0.1.80",),
        ("langchain-openai==1.7.3",),
    ),
    "py-langchain-openinference+official": Recording(
        "langchain_openinference_official",
        "langchain==1.4.7",
        ("openinference-instrumentation-langchain==0.1.80", "opentelemetry-instrumentation-genai-langchain==1.3b0"),
        ("langchain-openai==1.7.3",),
        _TWICE,
        behind_route=True,
    ),
    "py-langchain-openinference+openllmetry": Recording(
        "langchain_openinference_openllmetry",
        "langchain==1.4.7",
        ("openinference-instrumentation-langchain==0.1.80", "opentelemetry-instrumentation-langchain==0.62.4"),
        ("langchain-openai==1.7.3",),
        _TWICE,
    ),
    "py-llama-index-official+openinference": Recording(
        "llama_index_official_openinference",
        "llama-index-core==0.14.25",
        ("opentelemetry-instrumentation-genai-llama-index==1.3b0", "openinference-instrumentation-llama-index==4.6.1"),
        ("llama-index-llms-openai==0.8.3",),
        _TWICE,
    ),
    "py-openai-agents-apart-openinference+openllmetry": Recording(
        "openai_agents_openinference_openllmetry", _AGENTS, (_AGENTS_OI, _AGENTS_TL)
    ),
    "py-openai-agents-logfire": Recording(
        "openai_agents_logfire", _AGENTS, (_LOGFIRE,), scenarios=("approval", "missing", "mistyped")
    ),
    "py-openai-agents-mcp-openinference": Recording(
        "openai_agents_mcp_openinference",
        _AGENTS,
        (_AGENTS_OI, "mcp==2.3.0"),
        scenarios=("multi", "fail", "equal"),
        tool_prefix="mcp_travel__",
    ),
    "py-openai-agents-official": Recording(
        "openai_agents_official",
        _AGENTS,
        ("opentelemetry-instrumentation-genai-openai-agents==1.3b0",),
        ("opentelemetry-instrumentation-genai-openai==1.3b0",),
        ("multi", "fail", "approval", "missing", "mistyped"),
    ),
    "py-openai-agents-openinference": Recording(
        "openai_agents_openinference", _AGENTS, (_AGENTS_OI,), scenarios=("approval",)
    ),
    "py-openai-agents-openinference+logfire": Recording(
        "openai_agents_openinference_logfire", _AGENTS, (_AGENTS_OI, _LOGFIRE), scenarios=(*_TWICE, "approval")
    ),
    "py-openai-agents-openinference+openllmetry": Recording(
        "openai_agents_openinference_openllmetry",
        _AGENTS,
        (_AGENTS_OI, _AGENTS_TL),
        scenarios=(*_TWICE, "approval"),
        behind_route=True,
    ),
    "py-openai-agents-openllmetry": Recording(
        "openai_agents_openllmetry", _AGENTS, (_AGENTS_TL,), scenarios=("approval", "missing", "mistyped")
    ),
    "py-openai-agents-openllmetry+logfire": Recording(
        "openai_agents_openllmetry_logfire", _AGENTS, (_AGENTS_TL, _LOGFIRE), scenarios=(*_TWICE, "approval")
    ),
    "py-openai-sdk-openllmetry": Recording(
        "openai_sdk_openllmetry", "openai==3.52.0", ("opentelemetry-instrumentation-openai==0.62.4",)
    ),
    "py-pydantic-ai-mcp-native": Recording(
        "pydantic_ai_mcp",
        "pydantic-ai-slim[mcp]==2.68.0",
        ("built-in", "mcp==2.3.0"),
        ("openai==3.52.0",),
        ("multi", "fail", "equal"),
        "travel_",
    ),
    "py-pydantic-ai-native": Recording("pydantic_ai_native", "pydantic-ai-slim==2.68.0", others=("openai==3.52.0",)),
    "py-pydantic-ai-native+openinference": Recording(
        "pydantic_ai_native_openinference",
        "pydantic-ai-slim==2.68.0",
        ("built-in", "openinference-instrumentation-pydantic-ai==0.1.30"),
        ("openai==3.52.0",),
        _TWICE,
    ),
}


def record(name: str, folder: Path) -> Iterator[Path]:
    """Record every scenario into a folder of its own below ``folder``; yields each when it is written.

    Raises EnvironmentMissingError where its packages cannot be installed, and RuntimeError with what the framework
    printed where its run fails.
    """
    recording = RECORDINGS[name]
    with TemporaryDirectory(prefix="rightcall-record-") as scratch:
        python = _environment(Path(scratch) / "venv", (*recording.requirements, *_SDK))
        for scenario in recording.scenarios:
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
    script = scenarios(recording.tool_prefix)[scenario].answers
    with ExitStack() as servers:
        model = ScriptedModel(script)
        receiver = servers.enter_context(LoopbackServer(RequestFiles(target, _folders(python)).answer))
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
        command = [str(python), "-m", module, name, scenario, str(target)]
        done = subprocess.run(
            command, cwd=target, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{name} {scenario} failed\n{done.stderr[-4000:]}")
    truth = target / "truth.json"
    complete = json.loads(truth.read_text()) | {"llm_http_requests": len(model.requests)}
    truth.write_text(json.dumps(complete, indent=1, ensure_ascii=False) + "\n")


def _folders(python: Path) -> dict[str, str]:
    """Folders of this machine that stack traces name, and what stands for each in a recording."""
    return {
        str(python.parents[1] / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"): "/app",
        str(python.parents[2]): "/app",
        sysconfig.get_path("stdlib"): "/app/lib/python3",
        str(ROOT): "/app",
    }
