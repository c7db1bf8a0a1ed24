"""The console: pages and JSON about scored runs, on the admin listener."""
