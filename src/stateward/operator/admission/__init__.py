"""The validating webhook: what can never be done safely is refused at `kubectl apply`, by the operator's own plan.

`judge` decides, `keys` keeps the certificate, `registration` tells the API server whom to trust, `server` answers. None
of it is needed for anything else: while it is away, what it would have refused is held back by a condition instead.
"""
