"""Stateward: every change to a stateful cluster takes the gentlest safe path, and the path can be read before it is taken."""

__version__ = "0.1.0"
