"""Certificates, credentials and trust of secured clusters: created once, renewed in time."""
