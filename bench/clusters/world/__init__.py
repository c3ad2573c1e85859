"""What kwok does not pretend: the databases in the pods, and the volumes under them.

It runs as a process of its own (`python -m bench.clusters.world`), so that what the operator uses can be told apart.
"""
