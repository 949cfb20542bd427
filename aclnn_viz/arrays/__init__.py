"""Number systems: the namespaces that a kernel page can be evaluated over, and the driver that evaluates it."""
