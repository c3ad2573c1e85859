"""Kubernetes Events: what `kubectl describe` shows people about an object."""
