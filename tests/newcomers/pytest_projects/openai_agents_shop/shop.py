"""An agent of OpenAI's Agents SDK with a scripted model."""

import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_trace_processors
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

set_trace_processors([])  # nothing goes to OpenAI
OpenAIAgentsInstrumentor().instrument()


class Scripted(Model):
    def __init__(self, outputs: list[Any]) -> None:
        self.outputs = iter(outputs)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=[next(self.outputs)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@function_tool
def lookup_order(order_id: str) -> str:
    return "42 EUR"


@function_tool
def refund_card() -> str:
    return "refunded"


@function_tool
def delete_order() -> str:
    return "deleted"


def call(name: str, **arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id=f"call_{name}", name=name, type="function_call"
    )


def done() -> ResponseOutputMessage:
    text = ResponseOutputText(annotations=[], text="done", type="output_text")
    return ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")


def ask(order_id: str, last_tool: str = "refund_card") -> str:
    model = Scripted([call("lookup_order", order_id=order_id), call(last_tool), done()])
    agent = Agent(name="shop", model=model, tools=[lookup_order, refund_card, delete_order])
    return Runner.run_sync(agent, "Please refund my order").final_output
