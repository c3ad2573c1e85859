"""Connection and authentication: kubeconfig, in-cluster configuration, credentials, exec plug-ins."""
