"""Which members belong to the cluster: formation, scaling, decommissioning, voting, replacement.

A member is released only when its data is elsewhere, its vote is gone and its successor serves. This room may import
`upkeep` and `rollout`.
"""
