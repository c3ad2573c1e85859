"""A search cluster's spec with every default filled in: flavor, versions, pools, identity, memory."""
