"""Rebuilds the agent runs of a trace, each with its tool calls in order, from its GenAI spans. Pure: no clock, no I/O."""
