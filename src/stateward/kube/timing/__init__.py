"""Clocks, an event loop with virtual time, backoff, rate limits, turns of long computations.

This package imports nothing else of `kube`.
"""
