"""The reconciliation of clusters: its schedule, and one round."""
