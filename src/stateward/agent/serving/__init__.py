"""The agent's servers: the operator's API and the kubelet's probes."""
