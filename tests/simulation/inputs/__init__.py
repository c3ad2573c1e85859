"""What a pod uses: Secrets of the cluster, copied Secrets, the pod policy."""
