"""Commands that read: `status`, `list` and `explain`, and their texts."""
