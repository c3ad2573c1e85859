"""The Kubernetes objects of search clusters, and the effect of each change."""
