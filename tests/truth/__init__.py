"""Does a verdict hold when the evidence does not?

Recorded runs whose truth is known are changed in ways whose effect on the truth is known (a span lost, late or sent twice,
clocks skewed, content stripped), and scored by rules made from that truth. A verdict is *confidently wrong* when it is
complete, the first of its run, ``pass`` or ``fail``, and the other one is true.

``python -m tests.truth`` runs all of it, without sockets, in simulated time; ``tests/test_truth.py`` a sample.
"""
