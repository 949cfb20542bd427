"""What goes wrong in tiles: named wrong programs, one module an operator, each with what shows it."""
