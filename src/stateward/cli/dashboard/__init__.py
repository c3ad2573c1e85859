"""The page for the clusters of an API server, with the rights of the viewer's kubeconfig."""
