"""Changes in what agents do, without rules: how often runs take which path, against the time before."""
