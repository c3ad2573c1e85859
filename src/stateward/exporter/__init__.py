"""The exporter: a small process beside one cluster that serves the database's own metrics to Prometheus.

It runs in a pod of its own, from the operator's image, with rights that suffice to read statistics and for nothing
else. `metric` says what a metric is, `samples` reads values from decoded answers, `rounds` limits how often the
database is asked, `text` is the format of Prometheus, `serving` the HTTP server, and `process` puts them together. How
a database is read is in a room for each family: `search` asks over HTTP, `foundationdb` reads the answers that a second
container gets. `catalogs` has the tables of both. Of the operator it uses the HTTP listener with its limits; it knows
no API server.
"""
