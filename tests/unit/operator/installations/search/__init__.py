"""A random search over packages: users edit, things fail, operators die, and at the end all is as the spec asks for.

Each search is made from one number. It runs the shipped controllers of installations and of restarts in the small world
of their unit tests. A family of random packages (`packages`) is installed, edited and disturbed (`users`), and at the
end compared with a new installation of the same values (`checks`). `search` puts these together, and `python -m
tests.unit.operator.installations.search` runs as many as one likes.
"""
