"""Keeps declared resources in the databases of search clusters: objects, users, snapshots, restores.

`controller` watches and schedules; `resource` is what all reconciliations do alike: cluster, finalizer, status, events;
`tools` is what they need for it, and `record_key` makes the digests in their statuses.
`reconcile` is the one of an object, `users` the one of a user, and `snapshots` has those of snapshots and restores.
`database` reads, decides and writes in one session, `values` reads Secrets, `connection` writes those of applications,
`metrics` counts snapshots, `reporting` makes conditions. The decisions are pure: `engines.search.declared` and
`engines.search.snapshots`.
"""
