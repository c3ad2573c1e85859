"""Drawn runs: random seeds, seeds that once found a mistake, every order of few events, profiles."""
