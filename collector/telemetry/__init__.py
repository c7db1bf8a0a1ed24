"""The collector's own telemetry: its metrics, its spans, its resource."""
