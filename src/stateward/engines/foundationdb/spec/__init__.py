"""A FoundationDB cluster's spec with defaults: pools, versions, identity, coordinators."""
