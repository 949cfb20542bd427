"""What the cases of one operator add to the default."""
