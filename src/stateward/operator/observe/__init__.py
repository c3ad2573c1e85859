"""What a reconciliation looks at beyond a cluster's own objects: desired state, nodes and classes, referenced data."""
