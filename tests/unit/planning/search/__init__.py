"""A random search over the planner: users edit, things fail, operators die, and at the end the cluster has to settle.

Each search is made from one number. It runs in the planner's small world (`tests.unit.planning.world`), with volumes
that know their database (`disks`). A user edits the cluster at any moment (`edits`), things fail (`faults`), both also
as in clusters that are in use (`upkeep`), and then the user follows the advice of each wait (`advice`). `search` puts
these together, and `python -m tests.unit.planning.search` runs as many as one likes.
"""
