"""Users and their edits of a cluster, the profiles that make some frequent, and `declared` resources."""
