"""What the client, the cache and the definitions promise, on a real API server."""
