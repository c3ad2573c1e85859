"""What must hold in every run: invariants at each write of the operator, and the goal at the end."""
