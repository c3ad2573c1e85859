"""Checks of a package, and the effect of a new version or new values."""
