"""The validating webhook: refuses unsafe changes by the operator's own plan.

`judge` decides, `keys` keeps the certificate, `registration` makes the API server trust it, `server` answers. Nothing
else depends on it: while it is unavailable, a condition holds back what it would have refused.
"""
