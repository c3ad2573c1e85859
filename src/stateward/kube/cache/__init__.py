"""Watch caches: a reflector keeps a store equal to the API server.

`expectations` shows whether the caches contain the operator's own writes; `apply` skips writes that would change
nothing.
"""
