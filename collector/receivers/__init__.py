"""Receivers listen, check sizes and encodings, hand requests on as bytes and answer the sender in OTLP's words."""
