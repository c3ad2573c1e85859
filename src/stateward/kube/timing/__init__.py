"""Time and pace: clocks, an event loop with virtual time, backoff, rate limits, and hooks for metrics.

This room imports nothing else of `kube`.
"""
