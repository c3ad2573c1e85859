"""The effects of a plan: carries out its actions in order, keeps shared objects, and tells people what was done."""
