"""Keeps exporters of metrics beside search clusters.

`controller` says what begins a round, `reconcile` is one round of one cluster: it reads everything live, and applies
the objects of the pure `engines.search.exporter`. `credentials` keeps the exporter's user in the database, `health`
asks the exporter whether it reads the database. Nothing here can stop a round of the database, and no member changes.
"""
