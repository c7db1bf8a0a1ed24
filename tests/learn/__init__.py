"""How well rules are learnt: hidden rules make runs, some of which are broken, and what is learnt is compared with them.

`python -m tests.learn` prints the tables of `collector/learning/README.md`.
"""
