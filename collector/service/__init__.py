"""The process: build, start, admit, watch memory, report health, reload, drain, stop."""
