"""A world that a person drives: it advances in steps, takes inputs at any time, and repeats from their record."""
