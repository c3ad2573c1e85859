"""The Kubernetes objects of search clusters and their members, and what each change of them needs."""
