"""Record real agent frameworks anew: ``python -m tests.record NAME [-o FOLDER]``; without a name, lists the names.

Each recording is a folder as in ``tests/corpus``: the OTLP requests of the framework's own instrumentation, and what really
happened, written down by the tools themselves. The framework runs unchanged in a virtual environment of its own, made by uv
for this one recording; its model is a script behind a server on loopback.

A new version of a framework is recorded by changing its pin in ``recordings.py``. A new framework is a line there and a
script in ``frameworks/``. A name with ``+`` is a framework under several instrumentations at once. What names the machine is
left out: folders in stack traces, attributes of host and process.
"""
