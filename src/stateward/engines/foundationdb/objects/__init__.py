"""The Kubernetes objects of FoundationDB clusters and their members."""
