"""Many installations of packages on a real API server."""
