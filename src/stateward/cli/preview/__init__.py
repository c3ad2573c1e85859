"""Commands that preview changes: `plan`, `rehearse` and `validate`."""
