"""Connection and authentication to an API server: kubeconfig, in-cluster configuration, credentials, exec plug-ins."""
