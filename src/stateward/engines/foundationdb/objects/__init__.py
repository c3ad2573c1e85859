"""The Kubernetes objects of FoundationDB clusters and members."""
