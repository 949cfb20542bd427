"""What the explorer of one operator computes and draws."""
