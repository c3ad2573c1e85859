"""An API server in memory: it models the behaviour that operators depend on.

`store` has the objects and the revision log, `kinds` the properties of each kind, `admission` validation and defaults,
`ownership` and `apply` server-side apply, `merging` patches, `deletion` graceful deletion, finalizers and garbage
collection, `writes` the verbs, and `watches` the cursors. `client` implements the operator's `Api` protocol with a
simulated network.
"""
