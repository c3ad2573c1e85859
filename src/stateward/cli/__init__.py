"""The command line: `stateward`, and the same as a plug-in, `kubectl stateward`.

One module per command, each imported only when it is asked for (`main.COMMANDS`). What people read is made by pure
functions from what the API server answered (`picture`, `preview`, `explanation`); `session` talks to the server, and
`failures` turns what went wrong into one line.
"""
