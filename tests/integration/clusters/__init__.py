"""Clusters of databases on a real API server without nodes."""
