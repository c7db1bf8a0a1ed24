"""CrewAI under OpenInference and OpenLLMetry at once."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool as crewai_tool
from openinference.instrumentation.crewai import CrewAIInstrumentor as OpenInference
from opentelemetry.instrumentation.crewai import CrewAIInstrumentor as OpenLLMetry
from opentelemetry.sdk.trace import TracerProvider

from tests.record.scenarios import INSTRUCTIONS, MODEL
from tests.record.session import Tools, record


def instrument(provider: TracerProvider) -> None:
    """Switch both on."""
    OpenInference().instrument(tracer_provider=provider)
    OpenLLMetry().instrument(tracer_provider=provider)


def ask(name: str, user_input: str, tools: Tools) -> str:
    """Ask a crew of one; CrewAI reports a failed tool to the model itself."""
    agent = Agent(
        role=name,
        goal="Help travellers",
        backstory=INSTRUCTIONS,
        llm=LLM(model=MODEL),
        tools=list(map(crewai_tool, tools)),
    )
    task = Task(description=user_input, expected_output="A sentence.", agent=agent)
    return str(Crew(agents=[agent], tasks=[task]).kickoff().raw)


if __name__ == "__main__":
    record(instrument, ask)
