"""Judging runs with a language model: which runs are judged, at what cost, and how judgements return to the pipeline.

    verdicts ─▶ sampling ─▶ queue ─▶ redaction ─▶ questions ─▶ cache ─▶ budget ─▶ circuit ─▶ judge
                   │          │                                            │          │
                   └──────────┴── not judged: counted, with the reason ────┘          └── failed: an error evaluation

Nothing here delays a span, except for ``judge.hold``. The clock is an argument.
"""
