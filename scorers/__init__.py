"""Scorers of agent tool calls: pure functions over a trajectory and a rule. No I/O, no clock.

Parse rules (`parse_rules`, `load_rules`), compile them (`CompiledRule`), and evaluate runs (`Trajectory`, `ToolCall`): each
scorer of a rule returns an `Evaluation`. ``SCORERS[name](**options)`` is a single scorer of plain lists of calls.
"""

from scorers.calls import Call
from scorers.evaluation import CompiledRule, Evaluation, digest, score_rule
from scorers.options import Options
from scorers.plugins import MatcherPlugin, PluginError, ScorerPlugin
from scorers.registry import SCORERS
from scorers.rule_set import RuleSet, compile_rules, load_rules
from scorers.rules.intents import FoundIntent
from scorers.rules.model import Expect, Intent, Match, Rule, RuleFile, RuleTest
from scorers.rules.parsing import Problem, RuleError, parse_rules
from scorers.rules.selection import RuleContext, select
from scorers.score import Label, Outcome, Score, error_score
from scorers.trajectory import Doubt, ToolCall, Trajectory

__all__ = [
    "SCORERS",
    "Call",
    "CompiledRule",
    "Doubt",
    "Evaluation",
    "Expect",
    "FoundIntent",
    "Intent",
    "Label",
    "Match",
    "MatcherPlugin",
    "Options",
    "Outcome",
    "PluginError",
    "Problem",
    "Rule",
    "RuleContext",
    "RuleError",
    "RuleFile",
    "RuleSet",
    "RuleTest",
    "Score",
    "ScorerPlugin",
    "ToolCall",
    "Trajectory",
    "compile_rules",
    "digest",
    "error_score",
    "load_rules",
    "parse_rules",
    "score_rule",
    "select",
]
