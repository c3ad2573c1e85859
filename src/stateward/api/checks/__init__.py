"""What a schema cannot say about a cluster: one file per part of the spec."""
