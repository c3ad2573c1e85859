"""A read-only endpoint: what a cluster's database reports, for users that may get the cluster."""
