"""Every scorer by name: the only file that knows them all. A new one is a file, a line here, a test.

``SCORERS[name](**options)`` gives a scorer; ``scorer(expected=[...], actual=[...])`` gives a `Score`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from scorers.conformance import scorer as trajectory_scorer
from scorers.judged import tool_choice
from scorers.judged.judge import JudgeScorer
from scorers.score import Score
from scorers.systems import (
    adk,
    agentevals_lc,
    axion,
    azure_tne,
    deepeval,
    evalite,
    mastra_code,
    mastra_llm,
    mlflow_exact,
    ragas_accuracy,
    ragas_f1,
    tpmjs,
    vertex,
)


class Scorer(Protocol):
    """A scorer of plain calls ``{"tool", "args"?, ...}``. It raises where it has no score to give."""

    def __call__(self, *, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> Score:
        """Score the actual calls against the expected ones."""


_MODULES = (
    trajectory_scorer,
    adk,
    agentevals_lc,
    axion,
    azure_tne,
    deepeval,
    evalite,
    mastra_code,
    mastra_llm,
    mlflow_exact,
    ragas_accuracy,
    ragas_f1,
    tpmjs,
    vertex,
)
SCORERS: dict[str, Callable[..., Scorer]] = {module.NAME: module.create for module in _MODULES}
JUDGES: dict[str, Callable[..., JudgeScorer]] = {
    module.NAME: module.create_judge for module in (mastra_llm, tool_choice)
}
"""Scorers that ask a model: in a rule they are asked beside the pipeline, and cannot score a run by themselves."""
VERSIONS: dict[str, str] = {module.NAME: module.VERSION for module in (*_MODULES, tool_choice)}
