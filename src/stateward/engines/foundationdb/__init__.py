"""FoundationDB, as far as it is pure: what its status says, what is safe, and what its command line is told.

No kind of cluster uses it yet.
"""
