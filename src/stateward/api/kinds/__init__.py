"""The kinds of custom resources, typed as people write them, and their status."""
