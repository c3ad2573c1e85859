"""Values that all kinds share: durations, quantities, versions, roles, labels, problems; and how they are written as YAML."""
