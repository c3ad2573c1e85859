"""People and other clients around the declared resources of a cluster."""
