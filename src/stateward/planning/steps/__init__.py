"""The steps of a plan, in the order that `plan` defines.

`membership` decides which members join and leave, `upkeep` repairs and maintains, `rollout` restarts and changes
members.
"""
