"""Values that all kinds share: durations, quantities, versions, roles, labels, problems."""
