"""The verbs that write: validation and defaults, server-side apply, patches, and graceful deletion.

`writes` has the verbs, `admission` validation and defaults, `ownership` and `apply` server-side apply, `merging`
patches, and `deletion` graceful deletion, finalizers and garbage collection. It imports the store; no reader imports
it.
"""
