"""Which members restart, and how: one member, a safe set of members, or all together.

A restart in progress is always finished. This room imports the model, the facts and safety, and no other step.
"""
