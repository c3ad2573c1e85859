"""Checks of what a pool asks for: roles, memory, volumes, and the limits of its size."""
