"""Stories of FoundationDB clusters."""
