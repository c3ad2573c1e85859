"""Programs built on this machine from the sources in this package, once for each content."""
