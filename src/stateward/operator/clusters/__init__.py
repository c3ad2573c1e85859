"""The reconciliation of clusters: its schedule, and one round of observe, plan, act and report."""
