"""Keeps exporters of metrics beside clusters.

`controller` says what begins a round, `reconcile` is one round of one cluster: it reads everything live, and applies
the objects of the pure `engines.exporter`. `part` is what differs between engines: with `search`, `credentials` keeps
the exporter's user in the database; with `foundationdb` there is none. `health` asks the exporter whether it reads the
database. Nothing here can stop a round of the database, and no member changes.
"""
