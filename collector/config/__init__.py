"""What a user may configure, its defaults, and the errors that name file, line and fix."""
