"""Installations of packages and restart control, on a real API server."""
