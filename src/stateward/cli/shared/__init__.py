"""Common parts of all commands: the session with an API server, finding clusters, reading files, and output."""
