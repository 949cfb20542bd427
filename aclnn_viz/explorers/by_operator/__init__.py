"""The explorers of single operators: what each computes and draws."""
