"""Properties of every run: invariants at each write of the operator, and the goal at the end."""
