"""Input and output without threads: the loop, connections, HTTP/1.1, signals, replaced files, the log."""
