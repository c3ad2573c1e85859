"""What all commands share: the session with an API server, finding clusters, reading files, and output."""
