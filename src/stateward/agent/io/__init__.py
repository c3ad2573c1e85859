"""Single-threaded input and output: the loop, connections, HTTP/1.1, signals, replaced files, the log."""
