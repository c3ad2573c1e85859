"""Keeps declared objects (`SearchObject`) in the databases of search clusters.

`controller` watches and schedules, `reconcile` is one reconciliation, `database` reads, decides and writes in one
session, `values` reads Secrets, `reporting` makes the status. The decision itself is pure: `engines.search.declared`.
"""
