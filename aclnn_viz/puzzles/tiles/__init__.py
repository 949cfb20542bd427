"""Detective cases on tile programs."""
