"""Rule files: their models, names, argument matchers, intents, and the first rule that matches a run."""
