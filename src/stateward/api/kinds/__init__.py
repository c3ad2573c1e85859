"""The kinds of custom resources, and their status.

`snapshots` has snapshots of search clusters, `additions` what a spec adds to the image of a search engine, `access` how
people get to a cluster, and `scaling` how the size of a pool changes between limits.
"""
