"""`rightcall learn`: candidate rules from recorded runs.

    runs ─▶ groups (counts by route, intent, agent) ─▶ structure (variants into a pattern) ─▶ rule_text (a rule file)
                                  └─▶ values ─▶ constraints (arguments into matchers) ─┘

Memory does not grow with the runs: of a group there are counts of variants and values, each with a limit.
"""
