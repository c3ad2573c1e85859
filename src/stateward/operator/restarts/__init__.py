"""Restart control: pods restart when data that they use has changed."""
