"""Keeps the remote clusters of search clusters: their settings in the database, and the Service for those that search.

`controller` says what begins a round, `reconcile` is one round of one cluster: it reads both clusters and the database
live, and follows the pure `engines.search.remote`. `report` writes its parts of the status: an address is there before
it is in the database. The CAs are exchanged by `security`, in the rounds of the database.
"""
