"""Commands that preview changes: `plan` and `validate`."""
