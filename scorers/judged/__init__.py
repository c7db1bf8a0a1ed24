"""Scorers that ask a model: the prompts, and the scores computed from its answers. They send no requests themselves."""
