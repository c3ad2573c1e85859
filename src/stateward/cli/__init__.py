"""The command line: `stateward`, and the same as a plug-in, `kubectl stateward`.

A command is one module, imported only when it is asked for (`main.COMMANDS`). What people read is made by pure
functions from what the API server answered.

    shared    the session with an API server, finding clusters, reading files, output
    status    status, list, explain
    preview   plan, validate
    steering  restart, stop, start, replace, keep, pause, resume, detect
    packages  package, installation
    run       operator, manifests, simulate
"""
