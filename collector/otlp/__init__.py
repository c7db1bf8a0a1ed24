"""The OTLP wire format. The only package that imports protobuf. It reads lazily: most spans only pass through."""
