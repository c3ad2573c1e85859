"""FoundationDB: what its status says, what is safe, what its command line is told, and the objects of its clusters.

All of it is pure but `driver`, which talks to a database through a `shell`.
"""
