"""What the process needs whatever it reconciles: options, logs, metrics, health, HTTP limits, periodic work."""
