"""Pools that change their size between limits: `limits` and rules in the cluster, and the kind `PoolScale`.

An autoscaler writes its number into a `PoolScale`; the limits stay with the cluster.
"""
