"""Network policies: the clients that may connect to members, in one NetworkPolicy for each cluster."""
