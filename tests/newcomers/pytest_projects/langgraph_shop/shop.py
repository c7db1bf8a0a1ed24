"""A LangGraph agent with a scripted model."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from openinference.instrumentation.langchain import LangChainInstrumentor

LangChainInstrumentor().instrument()


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def lookup_order(order_id: str) -> str:
    """Look an order up."""
    return "42 EUR"


def refund_card() -> str:
    """Refund it."""
    return "refunded"


def delete_order() -> str:
    """Delete it."""
    return "deleted"


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{name}"}])


def ask(order_id: str, last_tool: str = "refund_card") -> str:
    says = [call("lookup_order", order_id=order_id), call(last_tool), AIMessage("done")]
    agent = create_agent(Scripted(messages=iter(says)), [lookup_order, refund_card, delete_order], name="shop")
    return agent.invoke({"messages": [("user", "Please refund my order")]})["messages"][-1].content
