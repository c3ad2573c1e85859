"""The kinds of custom resources, and their status."""
