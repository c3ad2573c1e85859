"""Clocks, an event loop with virtual time, backoff, rate limits.

This package imports nothing else of `kube`.
"""
