"""Time and pace: clocks, an event loop with virtual time, backoff, rate limits, and hooks for metrics.

This package imports nothing else of `kube`.
"""
