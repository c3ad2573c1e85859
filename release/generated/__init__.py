"""Generated files that describe the installation: chart values, manifests, metrics, alerts, events, labels."""
