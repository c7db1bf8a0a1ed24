"""Receivers listen, enforce sizes and encodings, pass requests on as bytes, and respond as OTLP specifies."""
