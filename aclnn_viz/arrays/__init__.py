"""Number systems: namespaces in which the kernel page of an operator is evaluated, and the driver that evaluates it."""
