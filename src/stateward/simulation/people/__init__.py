"""The people of a world: users who edit specs, well and badly, and the character of a run."""
