"""The Kubernetes objects of a cluster: reads, ownership, and translation into an observation.

`translate` and `recorded_status` are pure. Nothing here decides or writes, apart from Secrets whose cluster is deleted.
"""
