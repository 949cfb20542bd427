"""What an operator does where its document is silent or at odds with others, one file an operator."""
