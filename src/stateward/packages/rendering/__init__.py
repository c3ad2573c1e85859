"""From templates and values to Kubernetes objects, with limits."""
