"""Keeps declared resources in the databases of search clusters: `SearchObject`.

`controller` watches and schedules; `resource` is what all reconciliations share: cluster, finalizer, status, events;
`reconcile` is the one of an object. `database` reads, decides and writes in one session, `values` reads Secrets, and
`reporting` makes conditions. The decisions are pure: `engines.search.declared`.
"""
