"""Commands that read: `status`, `list` and `explain`, and the sentences that they show."""
