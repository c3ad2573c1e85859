"""Properties of every run: invariants at each write of the operator, the goal, and those of `declared` resources."""
