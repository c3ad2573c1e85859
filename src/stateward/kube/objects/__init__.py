"""Projections of Kubernetes objects, errors and watch events.

`resources` lists the kinds, `errors` has one type per failure that callers handle differently. No I/O.
"""
