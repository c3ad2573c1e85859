"""Which members restart, and how.

A restart in progress is always finished. This room imports the model, the facts and safety, and no other step.
"""
