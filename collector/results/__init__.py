"""What a verdict becomes: span attributes, evaluation events, counters; redacted on the way."""
