"""Kubernetes Events, which `kubectl describe` shows."""
