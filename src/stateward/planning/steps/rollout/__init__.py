"""What restarts, and how: one member, a safe set of members, or all together.

A restart that has begun is always finished. This room imports the model, the facts and safety, and no other step.
"""
