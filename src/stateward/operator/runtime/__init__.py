"""Common services: options, logs, metrics, health, HTTP limits, periodic work."""
