"""The databases behind the clusters: one driver per engine, and the agents."""
