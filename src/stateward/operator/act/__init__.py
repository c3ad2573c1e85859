"""The effects of a plan: performs its actions in order."""
