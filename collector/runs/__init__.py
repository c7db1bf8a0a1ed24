"""Scored runs as plain data, and the store of them that the console and `explain --collector` read."""
