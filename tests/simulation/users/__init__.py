"""Edits of users: mistakes and their repair, and drawn edits."""
