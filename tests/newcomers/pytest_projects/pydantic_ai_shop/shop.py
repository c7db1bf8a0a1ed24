"""A Pydantic AI agent with a scripted model."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

Agent.instrument_all()


def ask(order_id: str, last_tool: str = "refund_card") -> str:
    steps = iter([ToolCallPart("lookup_order", {"order_id": order_id}), ToolCallPart(last_tool, {}), TextPart("done")])

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([next(steps)])

    agent = Agent(FunctionModel(model), name="shop")

    @agent.tool_plain
    def lookup_order(order_id: str) -> str:
        return "42 EUR"

    @agent.tool_plain
    def refund_card() -> str:
        return "refunded"

    @agent.tool_plain
    def delete_order() -> str:
        return "deleted"

    return agent.run_sync("Please refund my order").output
