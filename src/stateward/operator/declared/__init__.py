"""Keeps declared resources in the databases of search clusters: `SearchObject` and `SearchUser`.

`controller` watches and schedules; `resource` is what all reconciliations share: cluster, finalizer, status, events;
`reconcile` is the one of an object, `users` the one of a user. `database` reads, decides and writes in one session,
`values` reads Secrets, `connection` writes those of applications, and `reporting` makes conditions. The decisions are
pure: `engines.search.declared`.
"""
