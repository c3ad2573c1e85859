"""The Kubernetes objects of search clusters and their members, and the effect of each change."""
