"""Extracts tool calls, results, texts and tool definitions from the messages of every provider and framework."""
