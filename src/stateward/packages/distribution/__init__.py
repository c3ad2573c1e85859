"""Packages on their way: as archives, and as OCI artifacts."""
