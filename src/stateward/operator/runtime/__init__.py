"""Common services of the process: options, logs, metrics, health, HTTP limits, periodic work."""
