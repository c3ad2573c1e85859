"""Stateward: every change takes the gentlest safe path, and you can read the path before it is taken."""

__version__ = "0.1.0"
