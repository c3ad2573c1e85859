"""Certificates, credentials and trust of secured clusters: made once, renewed in time."""
