"""Processors take data and give data. They own no socket, read no clock, and never call the next stage."""
