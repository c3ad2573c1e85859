"""Single-threaded I/O: the loop, connections, HTTP/1.1, signals, files, the log."""
