"""The effects of a plan: performs its actions in order, maintains shared objects, and reports what was done."""
