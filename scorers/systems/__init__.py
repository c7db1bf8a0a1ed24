"""The published scorers of tool calls, each number for number as its package ships it; one file a system.

Every module but the shared ones (``calls``, ``system``, ``equality``, ``pairing``, ``formulas``) has

- ``NAME``, the name rules use, and ``VERSION``, the package and version whose behaviour it has;
- ``create(**options)``, which gives a scorer: ``scorer(expected=[{"tool", "args"?}], actual=[{"tool", "args"?}])``.

What all of them promise: the same input gives the same `Score`; its value is from 0 to 1, or None where the original
has no number; ``details`` holds what the original publishes beside its score. They raise `TypeError` or `ValueError`
and nothing else: for options or calls that cannot be read, and (`OriginalError`) wherever the original itself raises.
Where the prose of a system and its shipped code differ, the code is reproduced and the docstring says so.
"""
