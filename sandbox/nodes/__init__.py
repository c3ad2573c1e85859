"""The node side: containerd, kubelet and kube-proxy, each node a machine of its own."""
