"""The exporter: a small process beside one search cluster that serves the database's own metrics to Prometheus.

It runs in a pod of its own, from the operator's image, with credentials that may read statistics and nothing else.
`catalog` is the table of all metrics, `translation` turns answers of the database into samples (pure), `questions` asks
the database with limits of time and size, `serving` is the HTTP server, and `settings` reads the mounted configuration.
Of the operator it uses the HTTP listener with its limits; it knows no API server.
"""
