"""The published scorers of tool calls, one module each. Each reproduces the exact numbers of the package it is named after.

Every module except the shared ones (``equality``, ``pairing``, ``formulas``, ``mastra_steps``) has

- ``NAME``, the name that rules use, and ``VERSION``, the package and version whose behavior it reproduces;
- ``create(**options)``, which returns a scorer: ``scorer(expected=[{"tool", "args"?}], actual=[{"tool", "args"?}])``.

All of them guarantee: the same input gives the same `Score`; its value is from 0 to 1, or None if the original has no
value; ``details`` holds what the original reports beside its score. They raise only `TypeError` or `ValueError`: for
invalid options or calls, and (`OriginalError`) wherever the original itself raises. Where the documentation of a system
and its published code differ, the code is reproduced and the docstring describes the difference.
"""
