"""Rule files, and the verdicts they give to runs, traces and conversations."""
