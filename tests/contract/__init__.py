"""Contracts: tests that each implementation of an interface must pass."""
