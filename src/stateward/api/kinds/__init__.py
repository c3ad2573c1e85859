"""The kinds of custom resources, and their status.

Snapshots of search clusters have a room of their own: `snapshots`.
"""
