"""Leader election: one process holds the lease, and a fence ends its work in time."""
