"""Keeps declared resources in the databases of search clusters: objects, users, snapshots, restores.

`controller` watches and schedules; `resource` is what all reconciliations share: cluster, finalizer, status, events.
`reconcile` is the one of an object, and `users`, `snapshot`, `schedule` and `restore` those of the other kinds.
`database` reads, decides and writes in one session, `values` reads Secrets, `connection` writes those of applications,
`metrics` counts snapshots, `reporting` makes conditions. The decisions are pure: `engines.search.declared` and
`engines.search.snapshots`.
"""
