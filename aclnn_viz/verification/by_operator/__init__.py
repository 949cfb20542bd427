"""What computes the errata and conventions of one operator."""
