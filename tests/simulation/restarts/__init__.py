"""Changes that restart a process: in its pod, in a new pod, all together; each the gentlest that it can be."""
