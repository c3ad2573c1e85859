"""Kubernetes Events, which `kubectl describe` shows for an object."""
