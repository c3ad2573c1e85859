"""Inputs of pods: Secrets of the cluster, copied Secrets, the pod policy."""
