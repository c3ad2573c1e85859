"""The exporter of a search cluster's metrics, as the operator sees it: its settings and credentials. Pure.

Input: the cluster as written, and the credentials. Output: the configuration, and the requests for the user of the
database. The objects are those of `engines.exporter`, the process itself is `stateward.exporter`.
"""
