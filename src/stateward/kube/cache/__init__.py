"""Watch caches: a reflector keeps a store equal to the API server; writes are checked against it.

`expectations` tells whether the caches have caught up with the operator's own writes; `apply` skips writes that would
change nothing.
"""
