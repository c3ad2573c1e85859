"""Tests of the client, the cache and the definitions on a real API server."""
