"""Judges beside the pipeline: which runs are judged, what that may cost, and how a judgement comes back.

    verdicts ─▶ sampling ─▶ queue ─▶ redaction ─▶ questions ─▶ cache ─▶ budget ─▶ circuit ─▶ judge
                   │          │                                            │          │
                   └──────────┴── not judged: counted, with the reason ────┘          └── failed: an error evaluation

Nothing here delays a span, but for ``judge.hold``. Time, sleep and randomness are arguments.
"""
