"""The steps of a plan: each looks at the facts and claims members, in the order that `plan` gives them.

`membership` decides who joins and leaves, `upkeep` repairs and maintains, `rollout` restarts and changes members.
"""
