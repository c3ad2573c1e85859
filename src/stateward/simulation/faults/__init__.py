"""What goes wrong in a world: faults that last, accidents, and disasters that strike at once."""
