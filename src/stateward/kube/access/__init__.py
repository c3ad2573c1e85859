"""How to reach an API server and prove who asks: kubeconfig, in-cluster configuration, credentials, exec plug-ins."""
