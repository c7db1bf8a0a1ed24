"""What the wire and the dialects give the rest: spans as read, GenAI spans as understood, the names of attributes."""
