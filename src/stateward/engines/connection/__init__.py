"""Connections to any database: the driver's interface, HTTP with limits, workers for large answers."""
