"""FoundationDB: what its status says, what is safe, what its command line is told, and the objects of its clusters.

`spec` fills in defaults, `objects` makes pods and Services, `database` asks and tells. All of it is pure but
`database.driver`, which talks to a database through a shell.
"""
