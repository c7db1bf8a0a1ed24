"""The GenAI spans of one trace -> its agent runs, each with its tool calls in order. Pure: no clock, no wire."""
