"""The reconciliation of clusters: when a cluster is looked at, and one round of observe, plan, act and report."""
