"""Scorers that ask a model: the questions, and the scores computed from its answers. Asking is not done here."""
