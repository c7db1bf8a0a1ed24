"""Rule files: models, names, argument matchers, intents, and the selection of the rule that applies to a run."""
