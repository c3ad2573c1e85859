"""Which pods restart because of which data."""
