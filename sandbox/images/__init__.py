"""Container images made here, from packages, without a registry and without Docker."""
