"""From templates and values to Kubernetes objects, with limits on what a template may cost."""
