"""Which members belong to the cluster: formation, new members, scaling, decommissioning, voting and replacement.

A member is let go only when the data is elsewhere, its vote is gone and its successor serves. This room may import
`upkeep` and `rollout`.
"""
