"""Kubernetes objects as far as Stateward reads them: metadata, projections per kind, versions, errors and watch events.

`resources` lists the kinds, `errors` has one type per failure that a caller handles differently. No I/O.
"""
