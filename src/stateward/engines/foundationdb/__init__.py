"""FoundationDB: its status, safety checks, commands and objects.

`spec` fills in defaults, `objects` builds pods and Services, `exporter` what an exporter of metrics needs, `database`
queries and commands the database. Everything is pure except `database.driver`, which talks to a database through a
shell.
"""
