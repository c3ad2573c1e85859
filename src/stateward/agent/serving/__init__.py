"""What the agent answers: the operator's API and the kubelet's probes."""
