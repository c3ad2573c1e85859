"""Commands that control a cluster."""
