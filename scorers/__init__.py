"""Scorers of agent tool calls: pure functions over a trajectory and a rule."""
