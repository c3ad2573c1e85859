"""An API server in memory, faithful where operators get hurt.

`store` has the objects and the one revision log, `kinds` what differs between kinds, `admission` what is refused,
`ownership` and `apply` server-side apply, `merging` patches, `deletion` graceful deletion, finalizers and garbage
collection, `writes` the verbs, `watches` the cursors, and `client` what the product sees: the `Api` protocol with a
network in between.
"""
