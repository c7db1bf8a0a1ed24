"""The OpenAI client in a loop written by hand, behind a web route, under OpenLLMetry: no tool span at all."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch it on."""
    OpenAIInstrumentor().instrument(tracer_provider=provider)


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Answer a web request with as many model requests as it takes; the calls of an answer run at once."""
    offered: Any = [_offer(tool) for tool in tools]
    messages: list[Any] = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": user_input}]
    by_name = {tool.__name__: tool for tool in tools}

    def run(call: Any) -> str:
        try:
            return by_name[call.function.name](**json.loads(call.function.arguments))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is reported to the model
            return f"Error: {error}"

    tracer = trace.get_tracer("shop")
    with tracer.start_as_current_span(
        "POST /chat", kind=trace.SpanKind.SERVER, attributes={"http.route": "/chat"}
    ), ThreadPoolExecutor() as workers:  # fmt: skip
        while True:
            answer = OpenAI().chat.completions.create(model=MODEL, messages=messages, tools=offered).choices[0].message
            if not answer.tool_calls:
                return str(answer.content)
            messages.append(answer)
            for call, result in zip(answer.tool_calls, workers.map(run, answer.tool_calls), strict=True):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def _offer(tool: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {name: {} for name in inspect.signature(tool).parameters}}
    function = {"name": tool.__name__, "description": tool.__doc__, "parameters": parameters}
    return {"type": "function", "function": function}


if __name__ == "__main__":
    record(instrument, ask, has_agents=False)
