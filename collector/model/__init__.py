"""The data that passes between decoding and reconstruction: spans, GenAI spans, attribute names."""
