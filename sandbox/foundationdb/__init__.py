"""The stand-in for FoundationDB's programs: `fdbserver` and `fdbcli` around the model of the simulation.

No registry of packages has a FoundationDB server. These programs take the same options, listen, keep
what they know on their disks, elect one of the coordinators, and answer with the same texts; what they say of a
database is the model's (`stateward.simulation.foundationdb`). They are the standard library of Python alone, and have
no TLS. `real` finds the programs of a real FoundationDB instead, if the environment names some.
"""
