"""Restart control for any workload that requests it: its pods restart when data that they use has changed."""
