"""Exporters send results out. Queueing, retrying and giving up are their business."""
