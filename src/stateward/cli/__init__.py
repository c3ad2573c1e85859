"""The command line `stateward`, also as the plug-in `kubectl stateward`.

A command is one module, imported only when it is used (`main.COMMANDS`). Pure functions create the displayed text from
the answers of the API server.

shared    the session with an API server, finding clusters, reading files, output
status    status, list, explain
diagnosis timeline, events, logs, diagnose
preview   plan, rehearse, validate
steering  restart, stop, start, replace, keep, pause, resume, detect
packages  package, installation
run       operator, manifests, simulate, completion
reference the reference page of all commands, for `make docs`
page      the page in a browser, without a host
dashboard dashboard: the page for an API server
tour      tour: the page and the terminal for a world in memory
"""
