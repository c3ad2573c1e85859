"""Guards that are removed on purpose, each with the scenario that must notice it."""
