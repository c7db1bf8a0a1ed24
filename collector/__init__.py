"""The Rightcall collector: receives OpenTelemetry spans, scores the agent runs in them, exports the scores."""

__version__ = "0.1.0"
