"""What exporters of metrics of all engines have in common, as the operator sees them: settings and objects. Pure.

`settings` is what the operator writes and the process in the pod reads, `objects` are Deployment, Service and network
policy. What an engine adds is in its own room `exporter`. The process itself is `stateward.exporter`.
"""
