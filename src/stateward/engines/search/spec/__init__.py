"""A search cluster's spec with defaults: flavor, versions, pools, identity, memory, and joined clusters."""
