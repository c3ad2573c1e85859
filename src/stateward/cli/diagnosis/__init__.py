"""Commands that show what has happened: `timeline`, `events`, `logs` and `diagnose`."""
