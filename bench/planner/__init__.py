"""Pure code: planning, reading answers of a database, roll-outs against the best possible, simulated hours a minute."""
