"""From finished traces to export requests: spans held for a judge, batches, the sending queue."""
