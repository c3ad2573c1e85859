"""Network policies: who may connect to the members of clusters, in one NetworkPolicy for each cluster."""
