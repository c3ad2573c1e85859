"""Certificates, credentials and trust of secured clusters."""
