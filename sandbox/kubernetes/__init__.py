"""The control plane and what belongs to it: certificates, kubeconfigs, API calls, CoreDNS, kwok's pretend nodes."""
