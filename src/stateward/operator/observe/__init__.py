"""Inputs beyond the cluster's own objects: desired state, nodes, classes, referenced data."""
