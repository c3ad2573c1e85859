"""Commands that read: `status`, `list` and `explain`."""
