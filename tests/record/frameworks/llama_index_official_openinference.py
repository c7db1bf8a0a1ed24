"""LlamaIndex under OpenTelemetry's own instrumentation and OpenInference at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor as OpenInference
from opentelemetry.instrumentation.genai.llama_index import LlamaIndexInstrumentor as Official
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    Official().instrument(tracer_provider=provider)
    OpenInference().instrument(tracer_provider=provider)


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask the agent; LlamaIndex reports a failed tool to the model itself."""
    model = OpenAI(model=MODEL, api_base=os.environ["OPENAI_BASE_URL"])
    agent = FunctionAgent(name=name, llm=model, system_prompt=INSTRUCTIONS, tools=list(tools))

    async def run() -> str:
        return str(await agent.run(user_input))

    return asyncio.run(run())


if __name__ == "__main__":
    record(instrument, ask)
