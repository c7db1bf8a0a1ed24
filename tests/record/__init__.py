"""Records real agent frameworks: ``python -m tests.record NAME [-o FOLDER]``; without a name, lists the names.

Each recording is a folder as in ``tests/corpus``: the OTLP requests of the instrumentation, and what really happened, logged
by the tools themselves. The framework runs unmodified in its own virtual environment, which uv creates for the recording;
its model is a script behind a server on loopback.

To record a new version of a framework, change its pin in ``recordings.py``. A new framework needs an entry there and a
script in ``frameworks/``. A name with ``+`` means several instrumentations at once. Whatever identifies the machine is
removed: folders in stack traces, attributes of host and process.
"""
