"""A FoundationDB cluster's spec with every default filled in: pools, versions, identity, coordinators."""
