"""Every scorer by name: the only file that knows them all. To add one, add its module, a line here and a test.

``SCORERS[name](**options)`` returns a scorer; ``scorer(expected=[...], actual=[...])`` returns a `Score`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scorers.call_scorer import Scorer
from scorers.conformance import scorer as trajectory_scorer
from scorers.judged import tool_choice
from scorers.judged.judge import JudgeScorer
from scorers.options import Options
from scorers.systems import (
    adk,
    agentevals_cli,
    agentevals_lc,
    axion,
    azure_tne,
    deepeval,
    deepeval_permission,
    evalite,
    mastra_checks,
    mastra_code,
    mastra_llm,
    mastra_trajectory,
    mlflow_exact,
    promptfoo,
    pydantic_evals,
    ragas_accuracy,
    ragas_f1,
    strands_scorers,
    tool_scorer,
    tpmjs,
    vertex,
)

PUBLISHED: Final = (
    adk,
    agentevals_cli,
    agentevals_lc,
    axion,
    azure_tne,
    deepeval,
    deepeval_permission,
    evalite,
    mastra_checks,
    mastra_code,
    mastra_llm,
    mastra_trajectory,
    mlflow_exact,
    promptfoo,
    pydantic_evals,
    ragas_accuracy,
    ragas_f1,
    strands_scorers,
    tool_scorer,
    tpmjs,
    vertex,
)
"""The scorers of other packages."""
_MODULES = (trajectory_scorer, *PUBLISHED)
SCORERS: dict[str, Callable[..., Scorer]] = {module.NAME: module.create for module in _MODULES}
JUDGES: dict[str, Callable[..., JudgeScorer]] = {
    module.NAME: module.create_judge for module in (mastra_llm, tool_choice)
}
"""Scorers that ask a model. In a rule they run beside the pipeline, and cannot score a run by themselves."""
OPTIONS: dict[str, type[Options]] = {
    **{module.NAME: module.OPTIONS for module in _MODULES},
    mastra_llm.NAME: mastra_llm.MastraLLMJudgeOptions,
    tool_choice.NAME: tool_choice.ToolChoiceOptions,
}
"""The options of each scorer in a rule."""
VERSIONS: dict[str, str] = {module.NAME: module.VERSION for module in (*_MODULES, tool_choice)}
