"""Packages as archives and as OCI artifacts."""
