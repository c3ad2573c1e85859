"""Runs by seed: how one run is assembled, and campaigns of many runs with their reports."""
